import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { FifoSemaphore } from "#actors/limits/FifoSemaphore.ts"

const yields = Effect.forEach(Array.from({ length: 5 }), () => Effect.yieldNow, { discard: true })

describe("places", () => {
  it.effect("are taken by so many at once, and then in order of arrival", () =>
    Effect.gen(function*() {
      const places = new FifoSemaphore(2)
      const inside: Array<number> = []
      const doors = yield* Effect.forEach([0, 1, 2, 3], () => Deferred.make<void>())
      const fibers = yield* Effect.forEach(doors, (door, i) =>
        Effect.forkChild(places.withPermit(Effect.suspend(() => {
          inside.push(i)
          return Deferred.await(door)
        }))))
      yield* yields
      assert.deepStrictEqual([inside, places.waiting], [[0, 1], 2])
      yield* Deferred.succeed(doors[1]!, undefined)
      yield* yields
      assert.deepStrictEqual([inside, places.waiting], [[0, 1, 2], 1])
      yield* Effect.forEach(doors, (door) => Deferred.succeed(door, undefined), { discard: true })
      yield* Effect.forEach(fibers, Fiber.join, { discard: true })
      assert.deepStrictEqual([inside, places.waiting], [[0, 1, 2, 3], 0])
    }))

  it.effect("are given back by failures and interruptions, and lost to nobody who gave up waiting", () =>
    Effect.gen(function*() {
      const places = new FifoSemaphore(1)
      yield* Effect.flip(places.withPermit(Effect.fail("no")))
      const holder = yield* Effect.forkChild(places.withPermit(Effect.never))
      yield* yields
      const impatient = yield* Effect.forkChild(places.withPermit(Effect.void))
      yield* yields
      assert.strictEqual(places.waiting, 1)
      yield* Fiber.interrupt(impatient)
      assert.strictEqual(places.waiting, 0)
      yield* Fiber.interrupt(holder)
      assert.strictEqual(yield* places.withPermit(Effect.succeed("in")), "in")
    }))

  it.effect("a hundred thousand who are done at once go through one after the other", () =>
    Effect.gen(function*() {
      const places = new FifoSemaphore(1)
      const door = yield* Deferred.make<void>()
      let through = 0
      yield* Effect.forkChild(places.withPermit(Deferred.await(door)))
      const all = yield* Effect.forkChild(Effect.forEach(
        Array.from({ length: 100_000 }),
        () => places.withPermit(Effect.sync(() => ++through)),
        { discard: true, concurrency: "unbounded" }
      ))
      yield* yields
      assert.strictEqual(places.waiting, 100_000)
      yield* Deferred.succeed(door, undefined)
      yield* Fiber.join(all)
      assert.strictEqual(through, 100_000)
    }))
})
