import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { FairQueue } from "#domain/limits/FairQueue.ts"

/** Jobs of one queue, which log their ends. */
const makeJobs = Effect.gen(function*() {
  const clock = yield* Clock.Clock
  const turns = new FairQueue(() => clock.currentTimeMillisUnsafe())
  const ended: Array<string> = []
  const job = (key: string, name: string, ms: number) =>
    turns.run(key, Effect.andThen(Effect.sleep(ms), Effect.sync(() => ended.push(name))))
  return { ended, start: (key: string, name: string, ms: number) => Effect.forkChild(job(key, name, ms), immediately) }
})

const immediately = { startImmediately: true }

describe("FairQueue", () => {
  it.effect("runs one job at a time, in order of arrival for equal use", () =>
    Effect.gen(function*() {
      const { ended, start } = yield* makeJobs
      for (const name of ["a", "b", "c"]) yield* start(name, name, 1000)
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(ended, ["a", "b"])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(ended, ["a", "b", "c"])
    }))

  it.effect("puts a key that has used much time behind the keys that have used little", () =>
    Effect.gen(function*() {
      const { ended, start } = yield* makeJobs
      for (let job = 0; job < 40; job++) yield* start("greedy", `greedy ${job}`, 5000)
      yield* TestClock.adjust("5 seconds")
      for (let job = 0; job < 4; job++) yield* start(`modest ${job}`, `modest ${job}`, 100)
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(ended, ["greedy 0", "greedy 1", "modest 0", "modest 1", "modest 2", "modest 3"])
    }))

  it.effect("gives an idle key no credit", () =>
    Effect.gen(function*() {
      const { ended, start } = yield* makeJobs
      yield* start("a", "a 0", 60_000)
      yield* TestClock.adjust("1 minute")
      for (const job of [1, 2, 3]) yield* start("b", `b ${job}`, 1000)
      yield* start("a", "a 1", 1000)
      for (const job of [1, 2]) yield* start("c", `c ${job}`, 1000)
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(ended.slice(1, 4), ["b 1", "c 1", "b 2"])
    }))

  it.effect("takes an interrupted waiter out, and passes the turn of an interrupted job on", () =>
    Effect.gen(function*() {
      const { ended, start } = yield* makeJobs
      const running = yield* start("a", "a", 1000)
      const waiting = yield* start("b", "b", 1000)
      yield* start("c", "c", 1000)
      yield* Fiber.interrupt(waiting)
      yield* Fiber.interrupt(running)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(ended, ["c"])
    }))
})
