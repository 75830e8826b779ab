import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Lanes } from "#actors/Lanes.ts"

/** Starts deliveries that take so long (ms), and counts those that are through. */
const send = (lanes: Lanes, host: string, count: number, takes: number) => {
  const sent = { done: 0 }
  const one = lanes.through(host, Effect.sleep(takes)).pipe(Effect.andThen(Effect.sync(() => sent.done++)))
  return Effect.as(
    Effect.forEach(Array.from({ length: count }), () => Effect.forkChild(one), { discard: true }),
    sent
  )
}

describe("Lanes", () => {
  it.effect("a host of hanging callbacks takes a quarter of the places, and a slow one as many of its own", () =>
    Effect.gen(function*() {
      const lanes = new Lanes(8)
      yield* send(lanes, "hanging.example", 100, 10_000)
      const quick = yield* send(lanes, "quick.example", 2, 100)
      yield* TestClock.adjust(100)
      assert.strictEqual(quick.done, 2)
      yield* TestClock.adjust("15 seconds")
      const [spread, late] = [yield* send(lanes, "other.example", 2, 100), yield* send(lanes, "hanging.example", 1, 0)]
      yield* TestClock.adjust(100)
      assert.deepStrictEqual([spread.done, late.done], [2, 0])
    }))

  it.effect("runs no more at once than its width, and a quarter of that", () =>
    Effect.gen(function*() {
      const lanes = new Lanes(8)
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
      const lanes = new Lanes(4)
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
