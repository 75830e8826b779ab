import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { live, postTo } from "#test/support/Fetching.ts"
import { serve } from "#test/support/Servers.ts"

/** Topics and callbacks of subscribers appear in headers of notifications, and cannot begin another header or request. */
describe("header injection through deliveries", () => {
  live("line breaks in a value are removed", () =>
    Effect.gen(function*() {
      const callback = yield* serve((_, response) => response.end())
      const topic = "http://a.example/\r\nX-Evil: 1\r\n\r\nPOST /other HTTP/1.1\r\n\0\u007f\u0085"
      assert.strictEqual(yield* postTo(callback.url, [["X-PubSubHubbub-Topic", topic]]), "200")
      assert.strictEqual(callback.seen.length, 1)
      const headers = callback.seen[0]?.headers ?? {}
      assert.isUndefined(headers["x-evil"])
      const value = Buffer.from(String(headers["x-pubsubhubbub-topic"]), "latin1").toString()
      assert.strictEqual(value, "http://a.example/X-Evil: 1POST /other HTTP/1.1\u0085")
    }))

  live("other alphabets arrive as UTF-8", () =>
    Effect.gen(function*() {
      const callback = yield* serve((_, response) => response.end())
      yield* postTo(callback.url, [["X-PubSubHubbub-Topic", "http://例え.example/ü"]])
      const value = String(callback.seen[0]?.headers["x-pubsubhubbub-topic"])
      assert.strictEqual(Buffer.from(value, "latin1").toString("utf8"), "http://例え.example/ü")
    }))

  live("an invalid header name is rejected, and no request is sent", () =>
    Effect.gen(function*() {
      const callback = yield* serve((_, response) => response.end())
      assert.match(yield* postTo(callback.url, [["X-A: 1\r\nX-B", "1"]]), /^Protocol: /)
      assert.strictEqual(callback.seen.length, 0)
    }))

  live("a parcel cannot set framing, routing, credentials or signature", () =>
    Effect.gen(function*() {
      const callback = yield* serve((_, response) => response.end())
      const foreign = [
        "Host",
        "Content-Length",
        "Transfer-Encoding",
        "Connection",
        "Authorization",
        "X-Hub-Signature",
        "Webhook-Id",
        "webhook-timestamp",
        "webhook-signature"
      ]
      assert.strictEqual(yield* postTo(callback.url, foreign.map((name) => [name, "7"])), "200")
      const headers = callback.seen[0]?.headers ?? {}
      assert.strictEqual(headers.host, `127.0.0.1:${callback.port}`)
      assert.strictEqual(headers["content-length"], "1")
      assert.isUndefined(headers["transfer-encoding"])
      assert.isUndefined(headers.authorization)
      const signing = Object.keys(headers).filter((name) => /^(x-hub-|webhook-)/.test(name))
      assert.deepStrictEqual(signing, [])
    }))

  live("a callback's path with line breaks is one path", () =>
    Effect.gen(function*() {
      const callback = yield* serve((_, response) => response.end())
      yield* postTo(`${callback.url}/a b\r\nX-Evil: 1%0d%0aX-Evil: 2?q=\u{1f426} HTTP/1.1`)
      assert.strictEqual(callback.seen.length, 1)
      assert.isUndefined(callback.seen[0]?.headers["x-evil"])
      assert.match(callback.seen[0]?.path ?? "", /^\/a%20bX-Evil:%201%0d%0aX-Evil:%202\?q=/)
    }))
})
