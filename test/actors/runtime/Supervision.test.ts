import { assert, describe, it } from "@effect/vitest"
import { Cause, Clock, Effect, Fiber, Schedule } from "effect"
import { TestClock } from "effect/testing"
import { actorRestarts, restartCrashed, superviseLoop } from "#actors/runtime/Supervision.ts"

const crash = Cause.die("defect")

/** A behavior that crashes in its first `crashes` runs, and the times of its runs in seconds. */
const behaviorOf = (crashes: number) => {
  const runs: Array<number> = []
  const behavior = Effect.flatMap(Clock.currentTimeMillis, (now) => {
    runs.push(now / 1000)
    return runs.length <= crashes ? Effect.failCause(crash) : Effect.succeed(123_000)
  })
  return { behavior, runs }
}

const supervised = <E>(behavior: Effect.Effect<number, E>) => {
  const calls = { discarded: 0, stopped: false }
  const actor = {
    name: "test",
    id: 1,
    behavior,
    restarts: actorRestarts,
    discardState: () => void calls.discarded++,
    isStopped: () => calls.stopped
  }
  return { actor, calls }
}

describe("Supervision", () => {
  it.effect("suspends an actor for five minutes after eight restarts", () =>
    Effect.gen(function*() {
      const { behavior, runs } = behaviorOf(Infinity)
      const { actor, calls } = supervised(behavior)
      const restarting = yield* Effect.forkChild(restartCrashed(actor, crash), { startImmediately: true })
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(runs, [0.25, 0.75, 1.75, 3.75, 7.75, 15.75, 31.75, 63.75])
      assert.deepStrictEqual(yield* Fiber.join(restarting), { _tag: "Suspended", until: 363_750 })
      assert.strictEqual(calls.discarded, 9)
    }))

  it.effect("returns the next alarm of the first run that completes", () =>
    Effect.gen(function*() {
      const { behavior, runs } = behaviorOf(2)
      const { actor } = supervised(behavior)
      const restarting = yield* Effect.forkChild(restartCrashed(actor, crash), { startImmediately: true })
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* Fiber.join(restarting), { _tag: "Completed", nextAlarm: 123_000 })
      assert.deepStrictEqual(runs, [0.25, 0.75, 1.75])
    }))

  it.effect("neither reports nor suspends a stopped actor", () =>
    Effect.gen(function*() {
      const { actor, calls } = supervised(Effect.die("defect"))
      calls.stopped = true
      const restarting = yield* Effect.forkChild(restartCrashed(actor, crash), { startImmediately: true })
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual([yield* Fiber.join(restarting), calls.discarded], [{ _tag: "Stopped" }, 0])
    }))

  it.effect("runs the next round of a loop after a failed one", () =>
    Effect.gen(function*() {
      let rounds = 0
      const round = Effect.suspend(() => ++rounds === 2 ? Effect.die("defect") : Effect.void)
      yield* superviseLoop("test", round, Schedule.spaced("1 second"))
      yield* TestClock.adjust("3500 millis")
      assert.strictEqual(rounds, 4)
    }))
})
