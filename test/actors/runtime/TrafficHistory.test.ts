import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Metric } from "effect"
import { TestClock } from "effect/testing"
import * as Metrics from "#actors/runtime/Metrics.ts"
import * as TrafficHistory from "#actors/runtime/TrafficHistory.ts"

describe("TrafficHistory", () => {
  it.effect("has the counts of each minute, and the times within which 95 % were done", () =>
    Effect.gen(function*() {
      Metrics.countDelivery("delivered") // before the first minute
      const { minutes, totals } = Context.get(yield* Layer.build(TrafficHistory.layer), TrafficHistory.TrafficHistory)
      assert.deepStrictEqual(yield* minutes, [])
      const before = yield* totals
      for (const outcome of ["delivered", "delivered", "delivered", "failed", "failed", "ended"] as const) {
        Metrics.countDelivery(outcome)
      }
      yield* Metrics.countPoll("unchanged")
      yield* Metrics.countPoll("changed")
      yield* Metrics.countPoll("failed")
      yield* Metric.update(Metrics.entries, 7)
      for (let i = 0; i < 95; i++) Metrics.observe(Metrics.deliveryLag, 0.2)
      for (let i = 0; i < 5; i++) Metrics.observe(Metrics.deliveryLag, 20)
      for (let i = 0; i < 94; i++) Metrics.observe(Metrics.pollLateness, 0.2)
      for (let i = 0; i < 6; i++) Metrics.observe(Metrics.pollLateness, 20)
      assert.strictEqual((yield* totals).delivered - before.delivered, 3)
      yield* TestClock.adjust("59 seconds")
      assert.deepStrictEqual(yield* minutes, [])
      yield* TestClock.adjust("1 second")
      const first = {
        at: 60_000,
        entries: 7,
        delivered: 3,
        failedDeliveries: 2,
        polls: 3,
        failedPolls: 1,
        deliveryLag: 0.25,
        pollLateness: 30
      }
      assert.deepStrictEqual(yield* minutes, [first])
      Metrics.observe(Metrics.pollLateness, 1e6)
      yield* TestClock.adjust("1 minute")
      const quiet = { entries: 0, delivered: 0, failedDeliveries: 0, polls: 0, failedPolls: 0 }
      assert.deepStrictEqual(yield* minutes, [first, { at: 120_000, ...quiet, pollLateness: Infinity }])
    }))

  it.effect("keeps a day, oldest first", () =>
    Effect.gen(function*() {
      const history = Context.get(yield* Layer.build(TrafficHistory.layer), TrafficHistory.TrafficHistory)
      yield* TestClock.adjust("25 hours")
      const minutes = yield* history.minutes
      assert.deepStrictEqual([minutes.length, minutes[0]?.at, minutes.at(-1)?.at], [
        24 * 60,
        61 * 60_000,
        25 * 60 * 60_000
      ])
    }))
})
