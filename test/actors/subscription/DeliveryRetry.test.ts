import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { deliveryRetry, makeDeliveryRetrySteps } from "#actors/subscription/DeliveryRetry.ts"
import { afterFailure } from "#domain/delivery/Delivery.ts"
import type { Face } from "#domain/Subscription.ts"

const now = 1_000_000_000

/** All waits of a delivery that always fails, in seconds. */
const waits = (face: Face, since = now) =>
  Effect.map(makeDeliveryRetrySteps, ({ waitAfter }) => {
    const all: Array<number> = []
    for (let failed = 1;; failed++) {
      const next = afterFailure(waitAfter(face, failed), since, now)
      if (next._tag === "Drop") return all
      all.push((next.dueAt - now) / 1000)
    }
  })

describe("DeliveryRetry", () => {
  it.effect("retries three times on the API face", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* waits("api"), [5, 10, 15])
    }))

  it.effect("is a schedule that retries any effect", () =>
    Effect.gen(function*() {
      const attempts: Array<number> = []
      const attempt = Effect.flatMap(Clock.currentTimeMillis, (at) => {
        attempts.push(at / 1000)
        return Effect.fail("500")
      })
      const fiber = yield* Effect.forkChild(Effect.exit(Effect.retry(attempt, deliveryRetry.api)))
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(attempts, [0, 5, 15, 30])
    }))

  it.effect("retries for most of a day on the hub face, with doubled waits", () =>
    Effect.gen(function*() {
      const all = yield* waits("hub")
      assert.deepStrictEqual(all, [5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 10240, 20480, 40960])
      assert.strictEqual(all.reduce((sum, wait) => sum + wait, 0), 81_915)
    }))

  it.effect("ends after a day of waiting, however long earlier deliveries took", () =>
    Effect.gen(function*() {
      const hours = (age: number) => now - age * 3_600_000
      assert.deepStrictEqual(yield* waits("api", hours(23)), [5, 10, 15])
      assert.deepStrictEqual(yield* waits("api", hours(24) + 14_999), [5, 10])
      assert.deepStrictEqual(yield* waits("hub", hours(23)), [5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560])
      assert.deepStrictEqual(yield* waits("hub", hours(24)), [])
    }))

  it.effect("continues at the stored step, and attempts at once what a clock that was ahead has planned", () =>
    Effect.gen(function*() {
      const { nextAttemptAt, waitAfter } = yield* makeDeliveryRetrySteps
      assert.deepStrictEqual([waitAfter("api", 3), waitAfter("api", 4)], [15_000, undefined])
      assert.strictEqual(nextAttemptAt("api", { attempt: 2, dueAt: now + 10_000 }, now), now + 10_000)
      assert.strictEqual(nextAttemptAt("api", { attempt: 2, dueAt: now + 10_001 }, now), now)
      const asked = { attempt: 2, requestedWait: 60_000 }
      assert.strictEqual(nextAttemptAt("api", { ...asked, dueAt: now + 60_000 }, now), now + 60_000)
      assert.strictEqual(nextAttemptAt("api", { ...asked, dueAt: now + 60_001 }, now), now)
    }))
})
