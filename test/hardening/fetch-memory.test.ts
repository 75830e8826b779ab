import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, type Scope } from "effect"
import zlib from "node:zlib"
import { MemoryBudget } from "#domain/collections/MemoryBudget.ts"
import { DocumentMemory } from "#domain/ports/DocumentMemory.ts"
import type { Fetched, Fetcher } from "#domain/ports/Fetcher.ts"
import { makePart } from "#layers/DocumentMemory.ts"
import { failureOf, fetch, outside } from "#test/support/Fetching.ts"
import { serve } from "#test/support/Servers.ts"

const mebibyte = 1024 * 1024

/** A test with a budget of 8 MiB: 4 MiB for strangers, and 4 MiB for one address. */
const limited = (
  name: string,
  body: (budget: MemoryBudget) => Effect.Effect<unknown, unknown, Fetcher | Scope.Scope>
) =>
  it.live(name, () => {
    const budget = makePart(8 * mebibyte)
    const memory = { fetches: budget, reading: new MemoryBudget(), exchanges: new MemoryBudget() }
    const layer = outside().pipe(Layer.provide(Layer.succeed(DocumentMemory, memory)))
    return Effect.scoped(Effect.provide(body(budget), layer))
  })

const immediately = { startImmediately: true }

/** Waits for a condition of other sockets. */
const until = (condition: () => boolean): Effect.Effect<void> =>
  Effect.suspend(() => condition() ? Effect.void : Effect.andThen(Effect.sleep(10), until(condition)))

/** Few small responses that expand, and large ones that arrive at once. */
describe("memory of documents under way", () => {
  limited(
    "small responses that expand to 2 MiB wait for each other, and all arrive",
    (budget) =>
      Effect.gen(function*() {
        const packed = zlib.gzipSync(Buffer.alloc(2 * mebibyte, "a"))
        const origin = yield* serve((_, response) => response.setHeader("Content-Encoding", "gzip").end(packed))
        const held: Array<Fetched> = []
        const fetches = yield* Effect.forkChild(
          Effect.forEach(Array.from({ length: 40 }, (_, n) => n), (n) =>
            Effect.map(fetch({ url: `${origin.url}/${n}`, strangersOnly: true }), (fetched) => held.push(fetched)), {
            concurrency: "unbounded"
          }),
          immediately
        )
        let arrived = 0
        while (arrived < 40) {
          yield* until(() =>
            held.length > 0
          )
          yield* Effect.sleep(20)
          assert.isAtMost(budget.bytes, 6 * mebibyte)
          assert.isAtMost(held.length, 3)
          for (const fetched of held.splice(0)) {
            arrived++
            fetched.returnRoom?.()
          }
        }
        yield* Fiber.join(fetches)
        assert.strictEqual(budget.bytes, 0)
      })
  )

  limited("a large response is not read while there is no room", (budget) =>
    Effect.gen(function*() {
      const large = Buffer.alloc(24 * mebibyte, "a")
      const origin = yield* serve(({ path }, response) => {
        if (path === "/unchanged") response.writeHead(304).end()
        else response.end(large)
      })
      const first = yield* fetch(`${origin.url}/first`)
      const others = yield* Effect.forkChild(
        Effect.forEach([1, 2, 3], (n) => fetch(`${origin.url}/${n}`), { concurrency: "unbounded" }),
        immediately
      )
      yield* until(() => origin.seen.length === 4)
      yield* Effect.sleep(300)
      assert.strictEqual((yield* fetch(`${origin.url}/unchanged`)).status, 304)
      assert.isBelow(budget.bytes, 25 * mebibyte, "the other responses wait with their first bytes")
      yield* Fiber.interrupt(others)
      assert.isAtMost(budget.bytes, first.body.length + 1024)
      first.returnRoom?.()
      assert.strictEqual(budget.bytes, 0)
    }))

  limited("strangers' documents leave room for accounts, and time limits hold", () =>
    Effect.gen(function*() {
      const body = Buffer.alloc(3 * mebibyte, "a")
      const [one, two, own] = yield* Effect.forEach(["127.0.0.1", "127.0.0.2", "127.0.0.3"], (host) =>
        serve((_, response) => response.end(body), { host }))
      yield* fetch({ url: `${one?.url}/1`, strangersOnly: true })
      yield* fetch({ url: `${two?.url}/2`, strangersOnly: true })
      const late = yield* failureOf({ url: `${one?.url}/3`, strangersOnly: true, deadline: 300 })
      assert.match(late, /^Timeout: 127\.0\.0\.1: no room in memory for its answer within 3 s/)
      assert.strictEqual((yield* fetch({ url: `${own?.url}/4`, deadline: 5000 })).body.length, body.length)
    }))

  limited("a body of a million tiny chunks takes the room of its bytes", (budget) =>
    Effect.gen(function*() {
      const tiny = Buffer.from("1\r\na\r\n".repeat(100_000))
      const origin = yield* serve((_, response) => {
        response.socket?.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for (let n = 0; n < 3; n++) response.socket?.write(tiny)
        response.socket?.end("0\r\n\r\n")
      })
      const { body, returnRoom } = yield* fetch(origin.url)
      assert.strictEqual(body.length, 300_000)
      returnRoom?.()
      assert.strictEqual(budget.bytes, 0)
    }))
})
