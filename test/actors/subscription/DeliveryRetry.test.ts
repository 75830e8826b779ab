import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { deliveryRetry, makeDeliveryRetrySteps, type PlannedDelivery } from "#actors/subscription/DeliveryRetry.ts"
import { afterFailure, maxWaitingMs, type RetrySchedule } from "#domain/delivery/Retry.ts"

const now = 1_000_000_000

const hourMs = 3_600_000

/** All waits of a delivery that always fails at once, in seconds. Its callback began to fail with it, or `failingMs` before. */
const waits = (schedule: RetrySchedule, age = 0, failingMs = 0) =>
  Effect.map(makeDeliveryRetrySteps, ({ waitAfter }) => {
    const all: Array<number> = []
    for (let failed = 1, waited = 0;; failed++) {
      const wait = waitAfter(schedule, failed, failingMs + waited)
      const next = afterFailure(wait, now - age, now + waited, maxWaitingMs[schedule])
      if (next._tag === "Drop") return all
      waited = next.dueAt - now
      all.push((wait ?? 0) / 1000)
    }
  })

const doubled = [5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 10240, 20480, 40960]

describe("DeliveryRetry", () => {
  it.effect("retries three times with the short schedule, however long the callback has failed", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* waits("short"), [5, 10, 15])
      assert.deepStrictEqual(yield* waits("short", 0, 80 * hourMs), [5, 10, 15])
    }))

  it.effect("is a schedule that retries any effect", () =>
    Effect.gen(function*() {
      const attempts: Array<number> = []
      const attempt = Effect.flatMap(Clock.currentTimeMillis, (at) => {
        attempts.push(at / 1000)
        return Effect.fail("500")
      })
      const fiber = yield* Effect.forkChild(Effect.exit(Effect.retry(attempt, deliveryRetry.short)))
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(attempts, [0, 5, 15, 30])
    }))

  it.effect("retries for three days with the schedule of days", () =>
    Effect.gen(function*() {
      const all = yield* waits("days")
      assert.deepStrictEqual(all, [
        5,
        10,
        15,
        60,
        300,
        900,
        ...[1, 3, 6, 12, 12, 12, 12, 12].map((hours) => hours * 3_600)
      ])
      assert.isBelow(all.reduce((sum, wait) => sum + wait, 0), 3 * 86_400)
    }))

  it.effect("retries for most of a day on the hub face, with doubled waits", () =>
    Effect.gen(function*() {
      const all = yield* waits("hub")
      assert.deepStrictEqual(all, doubled)
      assert.strictEqual(all.reduce((sum, wait) => sum + wait, 0), 81_915)
    }))

  it.effect("keeps its waits when each attempt hangs for 10 s", () =>
    Effect.gen(function*() {
      const { waitAfter } = yield* makeDeliveryRetrySteps
      for (const schedule of ["days", "hub"] as const) {
        const expected = yield* waits(schedule)
        let waited = 0
        for (const [i, wait] of expected.entries()) {
          assert.strictEqual(waitAfter(schedule, i + 1, waited), wait * 1000)
          waited += wait * 1000 + 10_000
        }
      }
    }))

  it.effect("probes a callback that fails for long: the first failure of the next delivery waits for long as well", () =>
    Effect.gen(function*() {
      const { waitAfter } = yield* makeDeliveryRetrySteps
      const first = (schedule: RetrySchedule, failingMs: number) => (waitAfter(schedule, 1, failingMs) ?? 0) / 1000
      assert.deepStrictEqual([first("days", 9_999), first("days", 10_000)], [5, 10])
      assert.deepStrictEqual([first("days", 2 * hourMs), first("days", 48 * hourMs)], [3_600, 43_200])
      assert.deepStrictEqual([first("hub", 24 * hourMs), first("hub", 2_000 * hourMs)], [40_960, 40_960])
    }))

  it.effect("ends with the time of its schedule, however long earlier deliveries took", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* waits("short", 23 * hourMs), [5, 10, 15])
      assert.deepStrictEqual(yield* waits("short", 24 * hourMs - 29_999), [5, 10])
      assert.deepStrictEqual(yield* waits("hub", 23 * hourMs), doubled.slice(0, 9))
      assert.deepStrictEqual(yield* waits("hub", 24 * hourMs), [])
      assert.deepStrictEqual(yield* waits("days", 71 * hourMs), [5, 10, 15, 60, 300, 900])
      assert.deepStrictEqual(yield* waits("days", 72 * hourMs), [])
    }))

  it.effect("continues at the stored step, and attempts at once what a clock that was ahead has planned", () =>
    Effect.gen(function*() {
      const { nextAttemptAt, waitAfter } = yield* makeDeliveryRetrySteps
      assert.deepStrictEqual([waitAfter("short", 3, 0), waitAfter("short", 4, 0)], [15_000, undefined])
      const at = (planned: PlannedDelivery, failingMs = 0) => nextAttemptAt("short", planned, failingMs, now) - now
      assert.strictEqual(at({ attempt: 2, dueAt: now + 10_000 }), 10_000)
      assert.strictEqual(at({ attempt: 2, dueAt: now + 10_001 }), 0)
      const asked = { attempt: 2, requestedWait: 60_000 }
      assert.strictEqual(at({ ...asked, dueAt: now + 60_000 }), 60_000)
      assert.strictEqual(at({ ...asked, dueAt: now + 60_001 }), 0)
      assert.strictEqual(at({ attempt: 0, requestedWait: 60_000, dueAt: now + 60_000 }), 60_000)
      assert.strictEqual(at({ attempt: 0, dueAt: now + 1 }), 0)
      const probe = { attempt: 1, dueAt: now + 12 * hourMs }
      assert.strictEqual(nextAttemptAt("days", probe, 80 * hourMs, now), probe.dueAt)
      assert.strictEqual(nextAttemptAt("days", probe, 0, now), now)
    }))
})
