import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import fc from "fast-check"
import type { Socket } from "node:net"
import type { Fetcher } from "#domain/ports/Fetcher.ts"
import { failureOf, fetch, live, postTo } from "#test/support/Fetching.ts"
import { serveRaw } from "#test/support/Servers.ts"

const forged = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"

/** Bytes behind an odd response. */
const smuggling: Readonly<Record<string, string>> = {
  "a length that is less than the chunks":
    `HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ngood\r\n0\r\n\r\n${forged}`,
  "a length that hides the end of the chunks":
    `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 200\r\n\r\n4\r\ngood\r\n0\r\n\r\n${forged}`,
  "bare line feeds": `HTTP/1.1 200 OK\nContent-Length: 4\n\ngood${forged}`,
  "a folded Transfer-Encoding":
    `HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n chunked\r\n\r\n4\r\ngood\r\n0\r\n\r\n${forged}`,
  "a space before the colon of Transfer-Encoding":
    `HTTP/1.1 200 OK\r\nTransfer-Encoding : chunked\r\nContent-Length: 9\r\n\r\n4\r\ngood\r\n0\r\n\r\n${forged}`,
  "an extension with a line feed":
    `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4 ;x\ngood\r\n0\r\n\r\n${forged}`
}

const bodyOf = (url: string) => Effect.map(fetch(url), ({ body }) => Buffer.from(body).toString())

const pour = (socket: Socket, head: string, text: string) => {
  socket.write(head)
  const write = () => {
    while (!socket.destroyed && socket.write(text));
  }
  socket.on("drain", write)
  write()
}

/** Odd responses are read leniently. None reaches another request, and none is read without end. */
describe("smuggled responses", () => {
  for (const [name, response] of Object.entries(smuggling)) {
    live(`${name}: the second response reaches no other request`, () =>
      Effect.gen(function*() {
        const origin = yield* serveRaw((socket) => socket.write(response))
        for (const path of ["/1", "/2", "/3"]) assert.strictEqual(yield* bodyOf(origin.url + path), "good")
        assert.strictEqual(origin.connections(), 3)
        yield* origin.quiet
      }))
  }

  live("a Content-Length that is less than the body", () =>
    Effect.gen(function*() {
      const origin = yield* serveRaw((socket) =>
        socket.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood and more")
      )
      assert.deepStrictEqual([yield* bodyOf(origin.url), yield* bodyOf(origin.url)], ["good", "good"])
      assert.strictEqual(origin.connections(), 2)
      yield* origin.quiet
    }))

  for (const [name, extra] of [["normal", forged], ["odd", forged.replaceAll("\r", "")]] as const) {
    live(`an unrequested ${name} response on an idle connection`, () =>
      Effect.gen(function*() {
        const origin = yield* serveRaw((socket) => {
          socket.write(
            "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood",
            () => setImmediate(() => socket.write(extra))
          )
        })
        assert.strictEqual(yield* bodyOf(origin.url), "good")
        yield* origin.quiet
        assert.strictEqual(yield* bodyOf(origin.url), "good")
        assert.strictEqual(yield* postTo(origin.url), "200")
        assert.strictEqual(origin.connections(), 3)
      }))
  }

  live("an unrequested odd response that is not a response", () =>
    Effect.gen(function*() {
      const callback = yield* serveRaw((socket) => {
        socket.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood")
        socket.on("data", () => socket.write("more bytes of the first body\r\n\r\n"))
      })
      assert.strictEqual(yield* postTo(callback.url), "200")
      assert.strictEqual(
        yield* postTo(callback.url),
        "Protocol: 127.0.0.1: the answer does not begin with an HTTP status line"
      )
      assert.strictEqual(yield* postTo(callback.url), "200")
    }))

  live("an endless header of an odd response", () =>
    Effect.gen(function*() {
      const origin = yield* serveRaw((socket) => pour(socket, "HTTP/1.1 200 OK\nX: ", "a".repeat(65_536)))
      const failure = "Protocol: 127.0.0.1: the header fields of the answer are too large"
      assert.strictEqual(yield* failureOf(origin.url), failure)
      assert.strictEqual(yield* postTo(origin.url), failure)
      yield* origin.quiet
    }))

  live("endless fields of an odd response", () =>
    Effect.gen(function*() {
      const origin = yield* serveRaw((socket) => pour(socket, "HTTP/1.1 200 OK\n", "X: 1\n".repeat(100)))
      const failure = "Protocol: 127.0.0.1: the header fields of the answer are too large"
      assert.strictEqual(yield* failureOf(origin.url), failure)
      yield* origin.quiet
    }))

  live("an endless chunk extension", () =>
    Effect.gen(function*() {
      const odd = yield* serveRaw((socket) =>
        pour(socket, "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n1;", "x".repeat(65_536))
      )
      const failure = "Protocol: 127.0.0.1: the extensions of the answer's chunks are too long"
      assert.strictEqual(yield* failureOf(odd.url), failure)
      yield* odd.quiet
      const many = yield* serveRaw((socket) =>
        pour(socket, "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n", `1;${"x".repeat(1_000)}\r\nx\r\n`)
      )
      assert.strictEqual(yield* failureOf(many.url), failure)
      yield* many.quiet
    }))

  live("an endless chunk extension of a valid response is not recorded", () =>
    Effect.gen(function*() {
      const size = 300 * 1024 * 1024
      const extension = Buffer.alloc(65_536, "x")
      let sent = 0
      let received = 0
      const origin = yield* serveRaw((socket) => {
        socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;")
        const write = () => {
          received = Math.max(received, process.memoryUsage().arrayBuffers)
          while (sent < size) {
            sent += extension.length
            if (!socket.write(extension)) return
          }
          socket.removeListener("drain", write)
          socket.write("\r\nok\r\n0\r\n\r\n")
        }
        socket.on("drain", write)
        write()
      })
      const before = process.memoryUsage().arrayBuffers
      assert.strictEqual(yield* bodyOf(origin.url), "ok")
      assert.isBelow(received - before, 150 * 1024 * 1024)
    }))

  live("an odd response without end", () =>
    Effect.gen(function*() {
      const origin = yield* serveRaw((socket) => socket.write("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n0"))
      assert.match(
        yield* failureOf({ url: origin.url, deadline: 100 }),
        /^Timeout: 127\.0\.0\.1: no (?:answer|end of the answer) within 0\.1 s$/
      )
      yield* origin.quiet
    }))

  live("bytes behind any response, valid or odd, reach no other request", () =>
    Effect.gen(function*() {
      let plans: ReadonlyArray<Plan> = []
      let requests = 0
      const origin = yield* serveRaw((socket) => {
        const answer = () => {
          const plan = plans[requests]
          if (plan !== undefined) socket.write(plan.framing(String(requests)) + plan.behind, "latin1")
          requests++
        }
        answer()
        socket.on("data", answer)
      })
      const services = yield* Effect.context<Fetcher>()
      const runs = fc.asyncProperty(fc.array(plan, { minLength: 2, maxLength: 5 }), async (drawn) => {
        plans = drawn
        requests = 0
        for (const index of drawn.keys()) {
          assert.strictEqual(await Effect.runPromiseWith(services)(bodyOf(origin.url)), String(index))
        }
        assert.strictEqual(requests, drawn.length)
      })
      yield* Effect.promise(() => fc.assert(runs, { numRuns: 200 }))
    }))
})

interface Plan {
  /** A response with a body of one character. */
  readonly framing: (body: string) => string
  /** Bytes in the same packet. */
  readonly behind: string
}

const plan: fc.Arbitrary<Plan> = fc.record({
  framing: fc.constantFrom(
    (body: string) => `HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n${body}`,
    (body: string) => `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n${body}\r\n0\r\n\r\n`,
    (body: string) => `HTTP/1.1 200 OK\nContent-Length: 1\n\n${body}`,
    (body: string) => `HTTP/1.1 200 OK\r\nOdd name: x\r\nContent-Length: 1\r\n\r\n${body}`,
    (body: string) => `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1 \r\n${body}\r\n0 \r\n`,
    (body: string) =>
      `HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n${body}\r\n0\r\n\r\n`,
    (body: string) => `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n${body}`
  ),
  behind: fc.oneof(
    fc.constantFrom(
      "",
      forged,
      forged.replaceAll("\r", ""),
      `\r\n${forged}`,
      forged.slice(0, 20),
      `0\r\n\r\n${forged}`
    ),
    fc.string({ unit: "binary-ascii", maxLength: 20 })
  )
})
