import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { FifoSemaphore } from "#actors/limits/FifoSemaphore.ts"

const yields = Effect.forEach(Array.from({ length: 5 }), () => Effect.yieldNow, { discard: true })

describe("FifoSemaphore", () => {
  it.effect("admits as many as it has permits, then in order of arrival", () =>
    Effect.gen(function*() {
      const semaphore = new FifoSemaphore(2)
      const inside: Array<number> = []
      const gates = yield* Effect.forEach([0, 1, 2, 3], () => Deferred.make<void>())
      const fibers = yield* Effect.forEach(gates, (gate, i) =>
        Effect.forkChild(semaphore.withPermit(Effect.suspend(() => {
          inside.push(i)
          return Deferred.await(gate)
        }))))
      yield* yields
      assert.deepStrictEqual([inside, semaphore.waiting], [[0, 1], 2])
      yield* Deferred.succeed(gates[1]!, undefined)
      yield* yields
      assert.deepStrictEqual([inside, semaphore.waiting], [[0, 1, 2], 1])
      yield* Effect.forEach(gates, (gate) =>
        Deferred.succeed(gate, undefined), { discard: true })
      yield* Effect.forEach(fibers, Fiber.join, { discard: true })
      assert.deepStrictEqual([inside, semaphore.waiting], [[0, 1, 2, 3], 0])
    }))

  it.effect("gets back permits of failed and interrupted effects, and loses none to an interrupted waiter", () =>
    Effect.gen(function*() {
      const semaphore = new FifoSemaphore(1)
      yield* Effect.flip(semaphore.withPermit(Effect.fail("no")))
      const holder = yield* Effect.forkChild(semaphore.withPermit(Effect.never))
      yield* yields
      const waiter = yield* Effect.forkChild(semaphore.withPermit(Effect.void))
      yield* yields
      assert.strictEqual(semaphore.waiting, 1)
      yield* Fiber.interrupt(waiter)
      assert.strictEqual(semaphore.waiting, 0)
      yield* Fiber.interrupt(holder)
      assert.strictEqual(yield* semaphore.withPermit(Effect.succeed("in")), "in")
    }))

  it.effect("runs a hundred thousand effects that end at once, one after the other", () =>
    Effect.gen(function*() {
      const semaphore = new FifoSemaphore(1)
      const gate = yield* Deferred.make<void>()
      let completed = 0
      yield* Effect.forkChild(semaphore.withPermit(Deferred.await(gate)))
      const all = yield* Effect.forkChild(Effect.forEach(
        Array.from({ length: 100_000 }),
        () => semaphore.withPermit(Effect.sync(() => ++completed)),
        { discard: true, concurrency: "unbounded" }
      ))
      yield* yields
      assert.strictEqual(semaphore.waiting, 100_000)
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(all)
      assert.strictEqual(completed, 100_000)
    }))
})
