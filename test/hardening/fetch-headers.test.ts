import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { failureOf, fetch, live } from "#test/support/Fetching.ts"
import { serveRaw } from "#test/support/Servers.ts"

const body = "Content-Length: 2\r\n\r\nok"

/** Responses with malicious framing or header fields. */
describe("hostile header fields", () => {
  live("one field of 100 kB", () =>
    Effect.gen(function*() {
      const origin = yield* serveRaw((socket) =>
        socket.write(`HTTP/1.1 200 OK\r\nX: ${"a".repeat(100_000)}\r\n${body}`)
      )
      assert.strictEqual(
        yield* failureOf(origin.url),
        "Protocol: 127.0.0.1: the header fields of the answer are too large"
      )
    }))

  live("a field that never ends", () =>
    Effect.gen(function*() {
      const origin = yield* serveRaw((socket) => {
        socket.write("HTTP/1.1 200 OK\r\nX: ")
        const pour = () => {
          while (!socket.destroyed && socket.write("a".repeat(65_536)));
        }
        socket.on("drain", pour)
        pour()
      })
      assert.strictEqual(
        yield* failureOf(origin.url),
        "Protocol: 127.0.0.1: the header fields of the answer are too large"
      )
      yield* origin.quiet
    }))

  live("a flood of small fields", () =>
    Effect.gen(function*() {
      const flood = Array.from({ length: 5_000 }, (_, i) => `X${i % 100}: 1\r\n`).join("")
      const origin = yield* serveRaw((socket) => socket.write(`HTTP/1.1 200 OK\r\n${flood}${body}`))
      assert.strictEqual(
        yield* failureOf(origin.url),
        "Protocol: 127.0.0.1: the answer has more than 500 header fields"
      )
      yield* origin.quiet
    }))

  live("a flood of empty names", () =>
    Effect.gen(function*() {
      const origin = yield* serveRaw((socket) => socket.write(`HTTP/1.1 200 OK\r\n${":\r\n".repeat(50_000)}${body}`))
      assert.strictEqual(
        yield* failureOf(origin.url),
        "Protocol: 127.0.0.1: the header fields of the answer are too large"
      )
    }))

  live("endless informational responses", () =>
    Effect.gen(function*() {
      const origin = yield* serveRaw((socket) => {
        const pour = () => {
          while (!socket.destroyed && socket.write("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".repeat(100)));
        }
        socket.on("drain", pour)
        pour()
      })
      assert.strictEqual(yield* failureOf(origin.url), "Protocol: 127.0.0.1: endless informational answers (1xx)")
      yield* origin.quiet
    }))

  live("endless trailers", () =>
    Effect.gen(function*() {
      const origin = yield* serveRaw((socket) => {
        socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n")
        const pour = () => {
          while (!socket.destroyed && socket.write(`X: ${"a".repeat(1_000)}\r\n`));
        }
        socket.on("drain", pour)
        pour()
      })
      assert.match(yield* failureOf(origin.url), /^Protocol: 127\.0\.0\.1: /)
      yield* origin.quiet
    }))

  live("field names that are properties of objects", () =>
    Effect.gen(function*() {
      const fields = "__proto__: polluted\r\nconstructor: c\r\ntoString: s\r\nhasOwnProperty: h\r\n"
      const origin = yield* serveRaw((socket) => socket.write(`HTTP/1.1 200 OK\r\n${fields}${body}`))
      const { headers } = yield* fetch(origin.url)
      assert.strictEqual(Reflect.getPrototypeOf({})?.constructor, Object)
      assert.isUndefined(Reflect.get({}, "polluted"))
      assert.strictEqual(headers["constructor"], "c")
      assert.strictEqual(headers["tostring"], "s")
      assert.strictEqual(Object.keys(headers).includes("__proto__"), false)
    }))

  live("two lengths, and a length beside a body without chunks", () =>
    Effect.gen(function*() {
      const twice = yield* serveRaw((socket) => socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 5\r\n${body}`))
      assert.strictEqual(
        yield* failureOf(twice.url),
        "Protocol: 127.0.0.1: the answer has two different Content-Lengths"
      )
      const both = yield* serveRaw((socket) => socket.write(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n${body}`))
      assert.strictEqual(
        yield* failureOf(both.url),
        "Protocol: 127.0.0.1: the size of a chunk of the answer is no hexadecimal number"
      )
    }))

  live("an unrequested second response does not reach the next fetch", () =>
    Effect.gen(function*() {
      const origin = yield* serveRaw((socket) => {
        socket.write(`HTTP/1.1 200 OK\r\n${body}HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged`)
      })
      assert.strictEqual(Buffer.from((yield* fetch(`${origin.url}/1`)).body).toString(), "ok")
      assert.strictEqual(Buffer.from((yield* fetch(`${origin.url}/2`)).body).toString(), "ok")
      assert.strictEqual(origin.connections(), 2)
    }))

  live("a response that is not HTTP", () =>
    Effect.gen(function*() {
      for (
        const greeting of ["220 mail.example ESMTP\r\n", "SSH-2.0-OpenSSH_9\r\n", "\0\0\0\0", "HTTP/1.1 20 OK\r\n\r\n"]
      ) {
        const origin = yield* serveRaw((socket) => socket.end(greeting))
        assert.strictEqual(
          yield* failureOf(origin.url),
          "Protocol: 127.0.0.1: the answer does not begin with an HTTP status line"
        )
      }
    }))

  live("a Location of 60 kB", () =>
    Effect.gen(function*() {
      const origin = yield* serveRaw((socket) => {
        socket.write(`HTTP/1.1 302 Found\r\nLocation: /${"a".repeat(60_000)}\r\nContent-Length: 0\r\n\r\n`)
      })
      assert.strictEqual(
        yield* failureOf(origin.url),
        "Redirects: 127.0.0.1: redirects to an address that is not a usable http or https URL"
      )
      assert.strictEqual(origin.connections(), 1)
    }))
})
