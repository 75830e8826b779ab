import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber, Layer, type Scope } from "effect"
import { createHmac } from "node:crypto"
import { Deliverer, type Parcel } from "#domain/ports/Deliverer.ts"
import * as DelivererHttp from "#layers/outbound/DelivererHttp.ts"
import * as Network from "#layers/outbound/Network.ts"
import { version } from "#layers/outbound/Version.ts"
import * as ManualTimers from "#test/support/ManualTimers.ts"
import { serve } from "#test/support/Servers.ts"

const layerWith = (options: DelivererHttp.DelivererOptions, network: Partial<Network.NetworkOptions> = {}) =>
  DelivererHttp.layerWith(options).pipe(
    Layer.provide(Network.layerWith({ allowPrivate: true, baseUrl: "http://windhover.example", ...network }))
  )

/** A test with real sockets and the real clock. */
const test = (
  name: string,
  body: () => Effect.Effect<void, unknown, Deliverer | Scope.Scope>,
  options: DelivererHttp.DelivererOptions = {}
) => it.live(name, () => Effect.scoped(Effect.provide(body(), layerWith(options))))

const parcel = (callback: string, more: Partial<Parcel> = {}): Parcel => ({
  id: "1-1",
  callback,
  contentType: "application/json; charset=utf-8",
  body: Buffer.from("{\"title\":\"Grüße\"}"),
  headers: [["X-PubSubHubbub-Topic", "http://example.org/feed"]],
  ...more
})

const post = (one: Parcel) => Deliverer.use((deliverer) => deliverer.post(one))

describe("DelivererHttp", () => {
  test("returns the Retry-After field, the first of repeated ones", () =>
    Effect.gen(function*() {
      const callback = yield* serve(({ path }, response) => {
        response.setHeader("Retry-After", path === "/twice" ? ["7", "8"] : "60").writeHead(503).end()
      })
      assert.strictEqual((yield* post(parcel(callback.url))).retryAfter, "60")
      assert.strictEqual((yield* post(parcel(`${callback.url}/twice`))).retryAfter, "7")
      const plain = yield* serve((_, response) => response.writeHead(503).end())
      assert.isUndefined((yield* post(parcel(plain.url))).retryAfter)
    }))

  test("posts the unchanged body with the parcel's headers", () =>
    Effect.gen(function*() {
      const callback = yield* serve((_, response) => response.writeHead(202).end("thanks\n\u0007again"))
      const answer = yield* post(parcel(`${callback.url}/hook?a=1`))
      assert.strictEqual(answer.status, 202)
      assert.strictEqual(answer.excerpt, "thanks \ufffdagain")
      assert.isAtLeast(answer.latency, 0)
      const [seen] = callback.seen
      assert.strictEqual(seen?.method, "POST")
      assert.strictEqual(seen?.path, "/hook?a=1")
      assert.strictEqual(seen?.body.toString(), "{\"title\":\"Grüße\"}")
      assert.strictEqual(seen?.headers["content-type"], "application/json; charset=utf-8")
      assert.strictEqual(seen?.headers["content-length"], "19")
      assert.strictEqual(seen?.headers["x-pubsubhubbub-topic"], "http://example.org/feed")
      assert.strictEqual(seen?.headers["user-agent"], `Windhover/${version} (+http://windhover.example)`)
      assert.isUndefined(seen?.headers["x-hub-signature"])
      assert.isUndefined(seen?.headers["x-hub-signature-256"])
      assert.deepStrictEqual(Object.keys(seen?.headers ?? {}).filter((name) => name.startsWith("webhook-")), [])
    }))

  test("asks for confirmation just before the first byte", () =>
    Effect.gen(function*() {
      let isLeaseHeld = true
      const callback = yield* serve((_, response) => {
        isLeaseHeld = false
        response.end()
      })
      const posted = Deliverer.use((deliverer) => deliverer.post(parcel(callback.url), () => isLeaseHeld))
      const [first, second] = yield* Effect.all([posted, Effect.flip(posted)], { concurrency: 2 })
      assert.deepStrictEqual([first.status, second.reason._tag], [200, "LeaseLost"])
      assert.strictEqual(callback.seen.length, 1)

      isLeaseHeld = true
      assert.strictEqual((yield* posted).status, 200)
      assert.strictEqual(callback.seen.length, 2)
    }), { timeoutMs: 5_000, maxPerOrigin: 1 })

  test("signs the body with SHA-1 and SHA-256", () =>
    Effect.gen(function*() {
      const callback = yield* serve((_, response) => response.end())
      yield* post(parcel(callback.url, { secret: "s3cret ü" }))
      const [seen] = callback.seen
      const hmac = (algorithm: string) => createHmac(algorithm, "s3cret ü").update(seen?.body ?? "").digest("hex")
      assert.strictEqual(seen?.headers["x-hub-signature"], `sha1=${hmac("sha1")}`)
      assert.strictEqual(seen?.headers["x-hub-signature-256"], `sha256=${hmac("sha256")}`)
    }))

  test("names the notification and the second of the attempt in the headers of Standard Webhooks", () =>
    Effect.gen(function*() {
      const callback = yield* serve((_, response) => response.end())
      const before = Math.floor((yield* Clock.currentTimeMillis) / 1000)
      yield* post(parcel(callback.url, { id: "3-6", secret: "s3cret ü", previousSecret: "öld" }))
      const after = Math.floor((yield* Clock.currentTimeMillis) / 1000)
      const { body, headers } = callback.seen[0] ?? assert.fail("nothing arrived")
      const at = Number(headers["webhook-timestamp"])
      assert.isTrue(before <= at && at <= after)
      const signatures = ["s3cret ü", "öld"].map((secret) =>
        `v1,${createHmac("sha256", secret).update(`3-6.${at}.`).update(body).digest("base64")}`
      )
      assert.strictEqual(headers["webhook-id"], "3-6")
      assert.strictEqual(headers["webhook-signature"], signatures.join(" "))
      assert.strictEqual(
        headers["x-hub-signature-256"],
        `sha256=${createHmac("sha256", "s3cret ü").update(body).digest("hex")}`
      )
    }))

  test("accepts every status and follows no redirect", () =>
    Effect.gen(function*() {
      const callback = yield* serve(({ path }, response) => {
        response.writeHead(Number(path.slice(1)), { Location: "/200" }).end()
      })
      const statuses = [200, 204, 301, 302, 307, 308, 404, 410, 500, 503]
      const answers = yield* Effect.forEach(statuses, (status) => post(parcel(`${callback.url}/${status}`)))
      assert.deepStrictEqual(answers.map(({ status }) => status), statuses)
      assert.strictEqual(callback.seen.length, statuses.length)
      assert.strictEqual(callback.connections(), 1)
    }))

  test("fails when a callback does not respond in time", () =>
    Effect.gen(function*() {
      const callback = yield* serve(() => {})
      const error = yield* Effect.flip(post(parcel(callback.url)))
      assert.deepStrictEqual([error.reason._tag, error.message], ["Timeout", "127.0.0.1: no answer within 0.1 s"])
      yield* callback.quiet
    }), { timeoutMs: 100 })

  test("gives a callback ten seconds by default", () =>
    Effect.gen(function*() {
      const callback = yield* serve(() => {})
      const { message } = yield* Effect.flip(post(parcel(callback.url)))
      assert.strictEqual(message, "127.0.0.1: no answer within 10 s")
    }))

  it.live("counts the status of an endless response", () => {
    const timers = ManualTimers.make()
    return Effect.gen(function*() {
      const callback = yield* serve((_, response) => {
        response.writeHead(200)
        response.write("first bytes")
      })
      const posted = yield* Effect.forkChild(post(parcel(callback.url)), { startImmediately: true })
      yield* ManualTimers.headRead(callback.url)
      yield* timers.expire(10_000)
      const answer = yield* Fiber.join(posted)
      assert.deepStrictEqual([answer.status, answer.excerpt], [200, "first bytes"])
      yield* callback.quiet
    }).pipe(Effect.provide(layerWith({}, { timers })), Effect.scoped)
  })

  test("reads a bounded part of the response", () =>
    Effect.gen(function*() {
      const callback = yield* serve((_, response) => {
        response.writeHead(200)
        const more = () => {
          while (!response.destroyed && response.write("x".repeat(10_000)));
        }
        response.on("drain", more)
        more()
      })
      const answer = yield* post(parcel(callback.url))
      assert.strictEqual(answer.status, 200)
      assert.strictEqual(answer.excerpt, "x".repeat(1_024))
      yield* callback.quiet
    }))

  test("counts the status of a truncated response", () =>
    Effect.gen(function*() {
      const callback = yield* serve((_, response) => {
        response.writeHead(200, { "Content-Length": "100" })
        response.write("half", () => response.socket?.resetAndDestroy())
      })
      assert.strictEqual((yield* post(parcel(callback.url))).status, 200)
    }))

  test("sends a delivery once, even if the connection closes before the response", () =>
    Effect.gen(function*() {
      const callback = yield* serve((_, response) => response.socket?.resetAndDestroy())
      const error = yield* Effect.flip(post(parcel(callback.url)))
      assert.deepStrictEqual([error.reason._tag, error.message], [
        "Protocol",
        "127.0.0.1: the connection was reset before an answer came"
      ])
      assert.strictEqual(callback.seen.length, 1)
    }))

  test("limits concurrent deliveries to one origin, and delays no other origin", () =>
    Effect.gen(function*() {
      const release: Array<() => void> = []
      const slow = yield* serve((_, response) => release.push(() => response.end()))
      const quick = yield* serve((_, response) => response.end())
      const four = yield* Effect.forkChild(
        Effect.forEach([1, 2, 3, 4], () => post(parcel(slow.url)), { concurrency: "unbounded" })
      )
      yield* post(parcel(quick.url))
      while (slow.seen.length < 2) yield* post(parcel(quick.url))
      assert.strictEqual(slow.seen.length, 2)
      // One at a time, so that the third follows the first.
      for (let freed = 0; freed < 4; freed++) {
        while (release.length === 0) yield* post(parcel(quick.url))
        release.shift()?.()
      }
      assert.deepStrictEqual((yield* Fiber.join(four)).map(({ status }) => status), [200, 200, 200, 200])
      assert.isAtMost(slow.connections(), 2)
    }), { maxPerOrigin: 2 })

  test("sends credentials of the callback's URL as Basic authentication, and shows them nowhere", () =>
    Effect.gen(function*() {
      const callback = yield* serve((_, response) => response.end())
      yield* post(parcel(`http://user:pa%20ss@127.0.0.1:${callback.port}/`))
      const basic = Buffer.from("user:pa ss").toString("base64")
      assert.strictEqual(callback.seen[0]?.headers.authorization, `Basic ${basic}`)
      const closed = yield* Effect.scoped(serve(() => {}))
      const error = yield* Effect.flip(post(parcel(`http://user:pa%20ss@127.0.0.1:${closed.port}/`)))
      assert.deepStrictEqual([error.reason._tag, error.message], ["Connect", "127.0.0.1: connection refused"])
    }))

  test("explains that a callback is not an http or https URL", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* Effect.flip(post(parcel("nowhere")))).reason._tag, "Protocol")
      assert.strictEqual((yield* Effect.flip(post(parcel("mailto:x@y")))).reason._tag, "Protocol")
    }))
})
