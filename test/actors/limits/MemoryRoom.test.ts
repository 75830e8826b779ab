import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { withRoom } from "#actors/limits/MemoryRoom.ts"
import { MemoryBudget } from "#domain/collections/MemoryBudget.ts"

const need = (key: string, bytes: number) => ({ key, bytes, isForStrangers: false })
const immediately = { startImmediately: true }

describe("withRoom", () => {
  it.effect("waits for room, and returns the bytes after success, failure and interruption", () =>
    Effect.gen(function*() {
      const budget = new MemoryBudget({ maxBytes: 10 })
      const end = yield* Deferred.make<string>()
      const first = yield* Effect.forkChild(withRoom(budget, need("a", 8), Deferred.await(end)), immediately)
      const second = yield* Effect.forkChild(withRoom(budget, need("b", 8), Effect.never), immediately)
      const third = yield* Effect.forkChild(withRoom(budget, need("c", 8), Effect.fail("broken")), immediately)
      assert.strictEqual(budget.bytes, 16, "the first waiter is exempt")
      assert.isUndefined(third.pollUnsafe())
      yield* Fiber.interrupt(second)
      yield* Deferred.succeed(end, "done")
      assert.strictEqual(yield* Fiber.join(first), "done")
      assert.strictEqual(yield* Effect.flip(Fiber.join(third)), "broken")
      assert.strictEqual(budget.bytes, 0)
    }))

  it.effect("an interrupted waiter leaves", () =>
    Effect.gen(function*() {
      const budget = new MemoryBudget({ maxBytes: 10 })
      const holders = yield* Effect.forEach(["a", "b"], (key) =>
        Effect.forkChild(withRoom(budget, need(key, 10), Effect.never), immediately))
      const waiting = yield* Effect.forkChild(withRoom(budget, need("c", 10), Effect.die("no room")), immediately)
      yield* Fiber.interrupt(waiting)
      yield* Effect.forEach(holders, Fiber.interrupt)
      assert.strictEqual(budget.bytes, 0)
    }))
})
