import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, References } from "effect"
import { TestClock } from "effect/testing"
import * as DeliveryLimiter from "#actors/limits/DeliveryLimiter.ts"

type Speed = DeliveryLimiter.CallbackRecord["speed"]

/** Time after which a delivery is overdue, with the interval of the searches, in ms. */
const overdueRound = 150

const makeLimiter = (maxDeliveries: number, maxPerHost = Math.ceil(maxDeliveries / 8)) =>
  DeliveryLimiter.make({ maxDeliveries, maxPerHost, maxOverdue: maxDeliveries })

/** Starts deliveries that take `takes` ms (negative: and then fail), each to a callback of its own, and counts the completed ones. */
const send = (
  limiter: DeliveryLimiter.DeliveryLimiter,
  host: string,
  count: number,
  takes: number,
  speed: Speed = "unknown"
) => {
  const callbacks = Array.from({ length: count }, (): DeliveryLimiter.CallbackRecord => ({ speed }))
  const sent = { inFlight: 0, done: 0, callbacks, fibers: [] as ReadonlyArray<Fiber.Fiber<void, string>> }
  const delivery = Effect.sync(() => void sent.inFlight++).pipe(
    Effect.andThen(takes === Infinity ? Effect.never : Effect.sleep(Math.abs(takes))),
    Effect.andThen(takes < 0 ? Effect.fail("no answer") : Effect.void),
    Effect.andThen(Effect.sync(() => void sent.done++)),
    Effect.ensuring(Effect.sync(() => void sent.inFlight--))
  )
  return Effect.map(
    Effect.forEach(callbacks, (callback) => Effect.forkChild(limiter.run(host, callback, delivery))),
    (fibers) => Object.assign(sent, { fibers })
  )
}

describe("DeliveryLimiter", () => {
  it.effect("gives a host of hanging callbacks an eighth of the fast lane, and of the slow one", () =>
    Effect.gen(function*() {
      const limiter = yield* makeLimiter(32)
      const hanging = yield* send(limiter, "hanging.example", 100, 10_000)
      const fast = yield* Effect.forEach(Array.from({ length: 28 }), (_, i) => send(limiter, `${i}.example`, 1, 100))
      yield* TestClock.adjust(100)
      assert.deepStrictEqual([hanging.inFlight, fast.filter(({ done }) => done === 1).length], [4, 28])
      yield* TestClock.adjust("10300 millis") // eight overdue ones began after 0.2 s
      assert.strictEqual(hanging.inFlight, 1)
      const slow = yield* send(limiter, "slow.example", 1, 5_000)
      yield* TestClock.adjust("5 seconds")
      const again = yield* send(limiter, "slow.example", 1, 100)
      yield* TestClock.adjust(100)
      assert.deepStrictEqual([slow.done, again.done, hanging.inFlight], [1, 1, 1])
    }))

  it.effect("starts a delivery whose permit is released while its fiber yields", () =>
    Effect.gen(function*() {
      for (
        const [ops, yields] of [3, 4, 5, 7].flatMap((ops) => [0, 1, 2, 3, 4, 5].map((yields) => [ops, yields] as const))
      ) {
        const limiter = yield* makeLimiter(8)
        const first = yield* send(limiter, "a.example", 1, Infinity)
        yield* Effect.yieldNow
        const second = yield* limiter.run("a.example", { speed: "unknown" }, Effect.succeed("sent")).pipe(
          Effect.provideService(References.MaxOpsBeforeYield, ops),
          Effect.forkChild
        )
        for (let i = 0; i < yields; i++) yield* Effect.yieldNow
        yield* Effect.forEach(first.fibers, Fiber.interrupt)
        assert.strictEqual(yield* Fiber.join(second), "sent")
      }
    }))

  it.effect("passes the permit of a delivery that is interrupted while waiting", () =>
    Effect.gen(function*() {
      const limiter = yield* makeLimiter(8)
      yield* send(limiter, "a.example", 1, 1_000)
      const waiting = yield* send(limiter, "a.example", 1, Infinity)
      const last = yield* send(limiter, "a.example", 1, 100)
      yield* Effect.forEach(waiting.fibers, Fiber.interrupt)
      yield* TestClock.adjust(1_100)
      assert.deepStrictEqual([last.done, waiting.callbacks[0]?.speed], [1, "unknown"])
    }))

  it.effect("runs at most its maximum at once", () =>
    Effect.gen(function*() {
      const limiter = yield* makeLimiter(8)
      const sent = yield* Effect.forEach(Array.from({ length: 40 }), (_, i) => send(limiter, `${i}.example`, 1, 1000))
      const done = () => sent.reduce((sum, one) => sum + one.done, 0)
      yield* TestClock.adjust(1000)
      assert.strictEqual(done(), 8)
      yield* TestClock.adjust(1000)
      assert.strictEqual(done(), 16)
    }))

  it.effect("treats a slow host as fast again after a minute", () =>
    Effect.gen(function*() {
      const limiter = yield* makeLimiter(4)
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

  it.effect("treats a slow host as fast again after a prompt response", () =>
    Effect.gen(function*() {
      const limiter = yield* makeLimiter(32)
      yield* send(limiter, "a.example", 1, 5000)
      yield* TestClock.adjust("5 seconds")
      const before = yield* send(limiter, "a.example", 4, 1_000)
      yield* TestClock.adjust(1_000)
      assert.strictEqual(before.done, 1) // one permit of the slow lane
      yield* TestClock.adjust(3_000)
      const after = yield* send(limiter, "a.example", 4, 1_000)
      yield* TestClock.adjust(1_000)
      assert.deepStrictEqual([before.done, after.done], [4, 4])
    }))
})

describe("DeliveryLimiter, with hanging callbacks beside prompt ones of the same host", () => {
  it.effect("delays the prompt ones once, by a tenth of a second", () =>
    Effect.gen(function*() {
      const limiter = yield* makeLimiter(512, 32)
      const first = yield* send(limiter, "a.example", 1, 20)
      const hanging = yield* send(limiter, "a.example", 50, -10_000)
      const prompt = yield* send(limiter, "a.example", 450, 20)
      yield* TestClock.adjust(99)
      assert.deepStrictEqual([first.done, hanging.inFlight, prompt.done], [1, 32, 0])
      yield* TestClock.adjust(51)
      assert.strictEqual(hanging.inFlight, 50)
      yield* TestClock.adjust(overdueRound + 15 * 20)
      assert.deepStrictEqual([hanging.inFlight, prompt.done], [50, 450])
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(new Set(hanging.callbacks.map(({ speed }) => speed)), new Set(["hung"]))
      assert.deepStrictEqual(new Set(prompt.callbacks.map(({ speed }) => speed)), new Set(["prompt"]))
    }))

  it.effect("gives known hanging ones places of their own, and slow ones others", () =>
    Effect.gen(function*() {
      const limiter = yield* makeLimiter(512, 32)
      yield* send(limiter, "a.example", 1, 20)
      yield* TestClock.adjust(20)
      const hanging = yield* send(limiter, "a.example", 400, Infinity, "hung")
      const prompt = yield* send(limiter, "a.example", 64, 20, "prompt")
      const slow = yield* send(limiter, "a.example", 32, 3_000, "slow")
      yield* TestClock.adjust(20)
      assert.deepStrictEqual([hanging.inFlight, prompt.done, slow.inFlight], [16, 32, 16])
      yield* TestClock.adjust(20)
      assert.deepStrictEqual([hanging.inFlight, prompt.done], [16, 64])
      yield* TestClock.adjust(6_000)
      assert.strictEqual(slow.done, 32)
    }))

  it.effect("keeps the places of prompt ones free when any number of unknown ones hang", () =>
    Effect.gen(function*() {
      const limiter = yield* makeLimiter(512, 32)
      yield* send(limiter, "a.example", 1, 20)
      const hanging = yield* send(limiter, "a.example", 1_000, Infinity)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(hanging.inFlight, 32 + 128) // a quarter of the overdue ones
      const prompt = yield* send(limiter, "a.example", 96, 20, "prompt")
      yield* TestClock.adjust(60)
      assert.deepStrictEqual([hanging.inFlight, prompt.done], [160, 96])
    }))

  it.effect("reaches the prompt ones behind those that hang after 0.2 s, when none has responded before", () =>
    Effect.gen(function*() {
      const limiter = yield* makeLimiter(512, 32)
      const hanging = yield* send(limiter, "a.example", 32, Infinity)
      const prompt = yield* send(limiter, "a.example", 1, 20)
      yield* TestClock.adjust(199)
      assert.deepStrictEqual([hanging.inFlight, prompt.done], [32, 0])
      yield* TestClock.adjust(21)
      assert.deepStrictEqual([hanging.inFlight, prompt.done], [32, 1])
    }))

  it.effect("frees the lane from overdue deliveries of many hosts after 2 s", () =>
    Effect.gen(function*() {
      const limiter = yield* makeLimiter(16)
      const hanging = yield* Effect.forEach(Array.from({ length: 24 }), (_, i) =>
        send(limiter, `${i}.example`, 1, Infinity))
      const prompt = yield* send(limiter, "prompt.example", 1, 20)
      yield* TestClock.adjust(1_900)
      assert.deepStrictEqual([
        hanging.filter(({ inFlight }) =>
          inFlight === 1
        ).length,
        prompt.done
      ], [16, 0])
      yield* TestClock.adjust(200)
      assert.deepStrictEqual([hanging.filter(({ inFlight }) => inFlight === 1).length, prompt.done], [24, 1])
    }))
})
