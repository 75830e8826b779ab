import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { DeliveryLimiter } from "#actors/limits/DeliveryLimiter.ts"

/** Starts deliveries that take so long (ms), and counts those that are through. */
const send = (lanes: DeliveryLimiter, host: string, count: number, takes: number) => {
  const sent = { done: 0 }
  const one = lanes.run(host, Effect.sleep(takes)).pipe(Effect.andThen(Effect.sync(() => sent.done++)))
  return Effect.as(
    Effect.forEach(Array.from({ length: count }), () => Effect.forkChild(one), { discard: true }),
    sent
  )
}

describe("Lanes", () => {
  it.effect("a host of hanging callbacks takes an eighth of the places, and of those of the slow", () =>
    Effect.gen(function*() {
      const lanes = new DeliveryLimiter(32, yield* Clock.Clock)
      let hanging = 0
      const held = Effect.acquireUseRelease(
        Effect.sync(() => hanging++),
        () => Effect.sleep("10 seconds"),
        () => Effect.sync(() => hanging--)
      )
      for (let i = 0; i < 100; i++) yield* Effect.forkChild(lanes.run("hanging.example", held))
      const quick = yield* Effect.forEach(Array.from({ length: 28 }), (_, i) => send(lanes, `${i}.example`, 1, 100))
      yield* TestClock.adjust(100)
      assert.deepStrictEqual([hanging, quick.filter(({ done }) => done === 1).length], [4, 28])
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(hanging, 1)
      const slow = yield* send(lanes, "slow.example", 1, 5_000)
      yield* TestClock.adjust("5 seconds")
      const again = yield* send(lanes, "slow.example", 1, 100)
      yield* TestClock.adjust(100)
      assert.deepStrictEqual([slow.done, again.done, hanging], [1, 1, 1])
    }))

  it.effect("what is interrupted while it waits for its host leaves its place to others", () =>
    Effect.gen(function*() {
      const lanes = new DeliveryLimiter(8, yield* Clock.Clock)
      yield* send(lanes, "a.example", 1, 1_000)
      const waiting = yield* Effect.forkChild(lanes.run("a.example", Effect.never))
      const last = yield* send(lanes, "a.example", 1, 100)
      yield* Fiber.interrupt(waiting)
      yield* TestClock.adjust(1_100)
      assert.strictEqual(last.done, 1)
    }))

  it.effect("runs no more at once than its width, and a quarter of that", () =>
    Effect.gen(function*() {
      const lanes = new DeliveryLimiter(8, yield* Clock.Clock)
      const sent: Array<{ readonly done: number }> = []
      for (let i = 0; i < 40; i++) sent.push(yield* send(lanes, `${i}.example`, 1, 1000))
      const done = () => sent.reduce((sum, one) => sum + one.done, 0)
      yield* TestClock.adjust(1000)
      assert.strictEqual(done(), 8)
      yield* TestClock.adjust(1000)
      assert.strictEqual(done(), 16)
    }))

  it.effect("a host that was slow is a quick one again after a minute", () =>
    Effect.gen(function*() {
      const lanes = new DeliveryLimiter(4, yield* Clock.Clock)
      yield* send(lanes, "a.example", 1, 5000)
      yield* TestClock.adjust("5 seconds")
      const blocked = yield* send(lanes, "a.example", 2, 50_000)
      yield* TestClock.adjust("56 seconds")
      assert.strictEqual(blocked.done, 1)
      yield* TestClock.adjust("120 seconds")
      assert.strictEqual(blocked.done, 2)
      const both = yield* send(lanes, "a.example", 1, 1000)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(both.done, 1)
    }))
})
