import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { DeliveryLimiter } from "#actors/limits/DeliveryLimiter.ts"

/** Starts deliveries that take `takes` ms, and counts the completed ones. */
const send = (limiter: DeliveryLimiter, host: string, count: number, takes: number) => {
  const sent = { done: 0 }
  const one = limiter.run(host, Effect.sleep(takes)).pipe(Effect.andThen(Effect.sync(() => sent.done++)))
  return Effect.as(
    Effect.forEach(Array.from({ length: count }), () => Effect.forkChild(one), { discard: true }),
    sent
  )
}

describe("DeliveryLimiter", () => {
  it.effect("gives a host of hanging callbacks an eighth of the fast lane, and of the slow one", () =>
    Effect.gen(function*() {
      const limiter = new DeliveryLimiter(32, yield* Clock.Clock)
      let hanging = 0
      const hangingDelivery = Effect.acquireUseRelease(
        Effect.sync(() => hanging++),
        () => Effect.sleep("10 seconds"),
        () => Effect.sync(() => hanging--)
      )
      for (let i = 0; i < 100; i++) yield* Effect.forkChild(limiter.run("hanging.example", hangingDelivery))
      const fast = yield* Effect.forEach(Array.from({ length: 28 }), (_, i) => send(limiter, `${i}.example`, 1, 100))
      yield* TestClock.adjust(100)
      assert.deepStrictEqual([hanging, fast.filter(({ done }) => done === 1).length], [4, 28])
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(hanging, 1)
      const slow = yield* send(limiter, "slow.example", 1, 5_000)
      yield* TestClock.adjust("5 seconds")
      const again = yield* send(limiter, "slow.example", 1, 100)
      yield* TestClock.adjust(100)
      assert.deepStrictEqual([slow.done, again.done, hanging], [1, 1, 1])
    }))

  it.effect("passes the permit of a delivery that is interrupted while waiting", () =>
    Effect.gen(function*() {
      const limiter = new DeliveryLimiter(8, yield* Clock.Clock)
      yield* send(limiter, "a.example", 1, 1_000)
      const waiting = yield* Effect.forkChild(limiter.run("a.example", Effect.never))
      const last = yield* send(limiter, "a.example", 1, 100)
      yield* Fiber.interrupt(waiting)
      yield* TestClock.adjust(1_100)
      assert.strictEqual(last.done, 1)
    }))

  it.effect("runs at most its maximum at once", () =>
    Effect.gen(function*() {
      const limiter = new DeliveryLimiter(8, yield* Clock.Clock)
      const sent: Array<{ readonly done: number }> = []
      for (let i = 0; i < 40; i++) sent.push(yield* send(limiter, `${i}.example`, 1, 1000))
      const done = () => sent.reduce((sum, one) => sum + one.done, 0)
      yield* TestClock.adjust(1000)
      assert.strictEqual(done(), 8)
      yield* TestClock.adjust(1000)
      assert.strictEqual(done(), 16)
    }))

  it.effect("treats a slow host as fast again after a minute", () =>
    Effect.gen(function*() {
      const limiter = new DeliveryLimiter(4, yield* Clock.Clock)
      yield* send(limiter, "a.example", 1, 5000)
      yield* TestClock.adjust("5 seconds")
      const slowDeliveries = yield* send(limiter, "a.example", 2, 50_000)
      yield* TestClock.adjust("56 seconds")
      assert.strictEqual(slowDeliveries.done, 1)
      yield* TestClock.adjust("120 seconds")
      assert.strictEqual(slowDeliveries.done, 2)
      const fastAgain = yield* send(limiter, "a.example", 1, 1000)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(fastAgain.done, 1)
    }))
})
