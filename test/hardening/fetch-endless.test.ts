import { assert, describe } from "@effect/vitest"
import { Effect, Fiber, Latch } from "effect"
import type { FetchRequest } from "#domain/ports/Fetcher.ts"
import * as ManualTimers from "#test/support/ManualTimers.ts"
import { failureOf, fetch, live } from "#test/support/Fetching.ts"
import { serve, serveRaw } from "#test/support/Servers.ts"

const ok = "HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\n"

const timers = ManualTimers.make()

/** The failure of a fetch whose timers of so many milliseconds fire at this moment. */
const failureAt = Effect.fnUntraced(function*(
  moment: Effect.Effect<void>,
  milliseconds: number,
  request: FetchRequest
) {
  const failure = yield* Effect.forkChild(failureOf(request), { startImmediately: true })
  yield* moment
  yield* timers.expire(milliseconds)
  return yield* Fiber.join(failure)
})

/** Missing, endless and oversized responses: each ends by a deadline or a maximum, and its connection is closed. */
describe("endless responses", () => {
  live("a server that accepts the request and never responds", () =>
    Effect.gen(function*() {
      const origin = yield* serve(() => {})
      const failure = yield* failureOf({ url: origin.url, deadline: 100 })
      assert.strictEqual(failure, "Timeout: 127.0.0.1: no answer within 0.1 s")
      yield* origin.quiet
    }))

  live("a slow drip: occasional bytes without end", () =>
    Effect.gen(function*() {
      const origin = yield* serve((_, response) => {
        response.writeHead(200)
        const drip = setInterval(() => response.write("x"), 10)
        response.on("close", () => clearInterval(drip))
      })
      const failure = yield* failureAt(ManualTimers.headRead(origin.url), 150, { url: origin.url, deadline: 150 })
      assert.strictEqual(failure, "Timeout: 127.0.0.1: no end of the answer within 0.15 s")
      yield* origin.quiet
    }), { timers })

  live("a slow drip of header fields", () =>
    Effect.gen(function*() {
      const origin = yield* serveRaw((socket) => {
        socket.write(ok)
        const drip = setInterval(() => socket.write("X-A: b\r\n"), 10)
        socket.on("close", () => clearInterval(drip))
      })
      const failure = yield* failureOf({ url: origin.url, deadline: 150 })
      assert.strictEqual(failure, "Timeout: 127.0.0.1: no answer within 0.15 s")
      yield* origin.quiet
    }))

  live("an endless fast body", () =>
    Effect.gen(function*() {
      const origin = yield* serve((_, response) => {
        response.writeHead(200)
        const pour = () => {
          while (!response.destroyed && response.write(Buffer.alloc(65_536, 32)));
        }
        response.on("drain", pour)
        pour()
      })
      const failure = yield* failureOf({ url: origin.url, maxBytes: 1_000_000 })
      assert.strictEqual(failure, "TooLarge: 127.0.0.1: larger than 1000000 bytes")
      yield* origin.quiet
    }))

  live("a body with a too large Content-Length is not read", () =>
    Effect.gen(function*() {
      const origin = yield* serveRaw((socket) => socket.write(`${ok}Content-Length: 99999999999\r\n\r\n`))
      const failure = yield* failureOf({ url: origin.url, maxBytes: 1_000_000 })
      assert.strictEqual(failure, "TooLarge: 127.0.0.1: larger than 1000000 bytes")
      yield* origin.quiet
    }))

  live("a body of exactly the maximum size is accepted, one more byte is not", () =>
    Effect.gen(function*() {
      const origin = yield* serve(({ path }, response) => response.end(Buffer.alloc(Number(path.slice(1)))))
      assert.strictEqual((yield* fetch({ url: `${origin.url}/5000`, maxBytes: 5_000 })).body.length, 5_000)
      const failure = yield* failureOf({ url: `${origin.url}/5001`, maxBytes: 5_000 })
      assert.strictEqual(failure, "TooLarge: 127.0.0.1: larger than 5000 bytes")
    }))

  live("a redirect with an endless body is followed", () =>
    Effect.gen(function*() {
      const origin = yield* serve(({ path }, response) => {
        if (path === "/end") return response.end("here")
        response.writeHead(302, { Location: "/end" })
        const pour = () => {
          while (!response.destroyed && response.write(Buffer.alloc(65_536, 32)));
        }
        response.on("drain", pour)
        pour()
      })
      assert.strictEqual(Buffer.from((yield* fetch(origin.url)).body).toString(), "here")
    }))

  live("ten thousand redirects", () =>
    Effect.gen(function*() {
      const origin = yield* serve(({ path }, response) => {
        response.writeHead(301, { Location: `/${Number(path.slice(1)) + 1}` }).end()
      })
      assert.strictEqual(yield* failureOf(`${origin.url}/0`), "Redirects: 127.0.0.1: more than 5 redirects")
      assert.strictEqual(origin.seen.length, 6)
    }))

  live("a redirect to itself", () =>
    Effect.gen(function*() {
      const origin = yield* serve((_, response) => response.writeHead(302, { Location: "/" }).end())
      assert.strictEqual(yield* failureOf(origin.url), "Redirects: 127.0.0.1: more than 5 redirects")
    }))

  live(
    "a redirect that leads to a server which never answers: one deadline for all hops",
    () =>
      Effect.gen(function*() {
        const asked = yield* Latch.make()
        const silent = yield* serve(() => void asked.openUnsafe())
        const origin = yield* serve((_, response) => response.writeHead(302, { Location: silent.url }).end())
        const before = timers.added.length
        const failure = yield* failureAt(asked.await, 150, { url: origin.url, deadline: 150 })
        assert.strictEqual(failure, "Timeout: 127.0.0.1: no answer within 0.15 s")
        const [own, ...ofConnections] = timers.added.slice(before)
        assert.strictEqual(own, 150)
        assert.notInclude(ofConnections, 150)
        yield* silent.quiet
      }),
    { timers }
  )

  live(
    "a peer that accepts connections and says nothing is given up in the TLS handshake",
    () =>
      Effect.gen(function*() {
        const greeted = yield* Latch.make()
        const origin = yield* serveRaw(() => void greeted.openUnsafe())
        const failure = yield* failureAt(greeted.await, 100, { url: `https://127.0.0.1:${origin.port}/` })
        assert.strictEqual(failure, "Timeout: 127.0.0.1: no end of the TLS handshake within 0.1 s")
        yield* origin.quiet
      }),
    { connectTimeoutMs: 100, timers }
  )
})
