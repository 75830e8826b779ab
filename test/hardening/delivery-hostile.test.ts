import { assert, describe } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { live, postTo } from "#test/support/Fetching.ts"
import { serve, serveRaw } from "#test/support/Servers.ts"

const ok = "HTTP/1.1 200 OK\r\n"

/** Responses that could block the service: each ends by a deadline or a maximum, and its connection is closed. */
describe("hostile callbacks", () => {
  live("an endless body is read up to a maximum, and its status counts", () =>
    Effect.gen(function*() {
      const callback = yield* serve((_, response) => {
        response.writeHead(500)
        const pour = () => {
          while (!response.destroyed && response.write(Buffer.alloc(65_536, 120)));
        }
        response.on("drain", pour)
        pour()
      })
      assert.strictEqual(yield* postTo(callback.url), "500")
      yield* callback.quiet
    }))

  live("a body of 100 MB is left unread", () =>
    Effect.gen(function*() {
      let sent = 0
      const callback = yield* serveRaw((socket) => {
        socket.write(`${ok}Content-Length: 100000000\r\n\r\n`)
        const pour = () => {
          while (sent < 100_000_000 && !socket.destroyed && socket.write(Buffer.alloc(65_536))) sent += 65_536
        }
        socket.on("drain", pour)
        pour()
      })
      assert.strictEqual(yield* postTo(callback.url), "200")
      yield* callback.quiet
      assert.isBelow(sent, 50_000_000)
    }))

  live("endless informational responses", () =>
    Effect.gen(function*() {
      const callback = yield* serveRaw((socket) => {
        const flood = () => {
          while (!socket.destroyed && socket.write("HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n".repeat(100)));
        }
        socket.on("drain", flood)
        flood()
      })
      assert.match(yield* postTo(callback.url), /^Protocol: .*1xx/)
      yield* callback.quiet
    }))

  live("endless header fields", () =>
    Effect.gen(function*() {
      const callback = yield* serveRaw((socket) => {
        socket.write(ok)
        const pour = () => {
          while (!socket.destroyed && socket.write("X-A: b\r\n".repeat(1_000)));
        }
        socket.on("drain", pour)
        pour()
      })
      assert.match(yield* postTo(callback.url), /^Protocol: /)
      yield* callback.quiet
    }))

  live("a response truncated within its header is a failure without a retry", () =>
    Effect.gen(function*() {
      const callback = yield* serveRaw((socket) => socket.end(`${ok}X-A: b`))
      assert.match(yield* postTo(callback.url), /^Protocol: /)
      assert.strictEqual(callback.connections(), 1)
      yield* callback.quiet
    }))

  live("callbacks that drip header fields do not delay other callbacks", () =>
    Effect.gen(function*() {
      const slow = yield* serveRaw((socket) => {
        socket.write(ok)
        const drip = setInterval(() => socket.write("X-A: b\r\n"), 10)
        socket.on("close", () => clearInterval(drip))
      })
      const quick = yield* serve((_, response) => response.end())
      const hanging = yield* Effect.forEach(
        Array.from({ length: 50 }),
        () => Effect.forkChild(postTo(slow.url))
      )
      for (let i = 0; i < 3; i++) assert.strictEqual(yield* postTo(quick.url), "200")
      assert.deepStrictEqual(hanging.map((fiber) => fiber.pollUnsafe()), hanging.map(() => undefined))
      yield* Fiber.interruptAll(hanging)
      yield* slow.quiet
    }))
})
