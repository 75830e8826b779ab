import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import zlib from "node:zlib"
import { failureOf, fetch, live } from "#test/support/Fetching.ts"
import { serve, serveRaw } from "#test/support/Servers.ts"

const ok = "HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\n"

/** Broken connections, and bodies that contradict their headers. Half a document never counts as a whole one. */
describe("broken responses", () => {
  live("a reset before the response", () =>
    Effect.gen(function*() {
      const origin = yield* serveRaw((socket) => socket.resetAndDestroy())
      assert.strictEqual(
        yield* failureOf(origin.url),
        "Protocol: 127.0.0.1: the connection was reset before an answer came"
      )
      assert.strictEqual(origin.connections(), 2)
    }))

  live("a close before the response", () =>
    Effect.gen(function*() {
      const origin = yield* serveRaw((socket) => socket.end())
      assert.strictEqual(
        yield* failureOf(origin.url),
        "Protocol: 127.0.0.1: the connection was closed before an answer came"
      )
    }))

  const cut = "Protocol: 127.0.0.1: the connection was closed before the answer was complete"

  live("a reset within the body", () =>
    Effect.gen(function*() {
      const origin = yield* serveRaw((socket) => {
        socket.write(`${ok}Content-Length: 100\r\n\r\n<rss>`, () => setTimeout(() => socket.resetAndDestroy(), 20))
      })
      assert.strictEqual(yield* failureOf(origin.url), cut)
      assert.strictEqual(origin.connections(), 1)
    }))

  live("a body shorter than its Content-Length", () =>
    Effect.gen(function*() {
      const origin = yield* serveRaw((socket) => socket.end(`${ok}Content-Length: 100\r\n\r\n<rss>`))
      assert.strictEqual(yield* failureOf(origin.url), cut)
      const closing = yield* serveRaw((socket) =>
        socket.end(`${ok}Connection: close\r\nContent-Length: 100\r\n\r\n<rss>`)
      )
      assert.strictEqual(yield* failureOf(closing.url), cut)
    }))

  live("chunks without their end", () =>
    Effect.gen(function*() {
      const origin = yield* serveRaw((socket) => socket.end(`${ok}Transfer-Encoding: chunked\r\n\r\n5\r\n<rss>\r\n`))
      assert.strictEqual(yield* failureOf(origin.url), cut)
    }))

  live("a chunk with an invalid length", () =>
    Effect.gen(function*() {
      const origin = yield* serveRaw((socket) => socket.end(`${ok}Transfer-Encoding: chunked\r\n\r\nzz\r\n<rss>`))
      assert.strictEqual(
        yield* failureOf(origin.url),
        "Protocol: 127.0.0.1: the size of a chunk of the answer is no hexadecimal number"
      )
    }))

  live("a body that ends with the connection is complete", () =>
    Effect.gen(function*() {
      const origin = yield* serveRaw((socket) => socket.end(`${ok}\r\n<rss/>`))
      assert.strictEqual(Buffer.from((yield* fetch(origin.url)).body).toString(), "<rss/>")
    }))

  live("gzip that is truncated by the end of the connection", () =>
    Effect.gen(function*() {
      const packed = zlib.gzipSync("<rss>".repeat(1_000)).subarray(0, 40)
      const origin = yield* serveRaw((socket) => {
        socket.write(`${ok}Content-Encoding: gzip\r\n\r\n`)
        socket.end(packed)
      })
      assert.strictEqual(yield* failureOf(origin.url), "Encoding: 127.0.0.1: the body is not valid gzip")
    }))

  live("a wrong Content-Encoding", () =>
    Effect.gen(function*() {
      const plain = yield* serve((_, response) => response.setHeader("Content-Encoding", "gzip").end("<rss/>"))
      assert.strictEqual(Buffer.from((yield* fetch(plain.url)).body).toString(), "<rss/>")
      const noise = yield* serve((_, response) =>
        response.setHeader("Content-Encoding", "br").end(Buffer.from([0, 1, 2, 3]))
      )
      assert.strictEqual(yield* failureOf(noise.url), "Encoding: 127.0.0.1: the body is not valid br")
    }))

  live("a 304 with a body, and the next response", () =>
    Effect.gen(function*() {
      const origin = yield* serveRaw((socket) => {
        socket.write("HTTP/1.1 304 Not Modified\r\nContent-Length: 6\r\n\r\nforged")
      })
      const fetched = yield* fetch(`${origin.url}/1`)
      assert.deepStrictEqual([fetched.status, fetched.body.length], [304, 0])
      assert.strictEqual((yield* fetch(`${origin.url}/2`)).status, 304)
      assert.strictEqual(origin.connections(), 2)
    }))
})
