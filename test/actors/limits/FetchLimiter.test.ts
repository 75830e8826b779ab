import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as FetchLimiter from "#actors/limits/FetchLimiter.ts"

const makeFetches = Effect.fnUntraced(function*(maxFetches: number) {
  const limiter = yield* FetchLimiter.make(maxFetches)
  const started: Array<string> = []
  let running = 0
  let maxRunning = 0
  const fetch = (name: string, seconds: number) =>
    limiter.run(
      Effect.gen(function*() {
        started.push(`${name} ${(yield* Clock.currentTimeMillis) / 1000}s`)
        maxRunning = Math.max(maxRunning, ++running)
        yield* Effect.sleep(seconds * 1000)
      }).pipe(Effect.ensuring(Effect.sync(() => running--)))
    ).pipe(Effect.forkChild({ startImmediately: true }))
  return { fetch, started, maxRunning: () => maxRunning }
})

describe("FetchLimiter", () => {
  it.effect("passes permits to the waiting fetches in order", () =>
    Effect.gen(function*() {
      const { started, fetch, maxRunning } = yield* makeFetches(2)
      for (const name of ["a", "b", "c", "d", "e"]) yield* fetch(name, 1)
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual([started, maxRunning()], [["a 0s", "b 0s", "c 1s", "d 1s", "e 2s"], 2])
    }))

  it.effect("takes a permit after two seconds only while another fetch waits", () =>
    Effect.gen(function*() {
      const { started, fetch, maxRunning } = yield* makeFetches(2)
      yield* fetch("slow", 30)
      yield* TestClock.adjust("10 seconds")
      yield* fetch("slow too", 30)
      yield* fetch("a", 1)
      yield* fetch("b", 1)
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual([started.slice(2), maxRunning()], [["a 10.001s", "b 11.001s"], 3])
    }))

  it.effect("runs at maxRunning twice as many slow fetches beside its permits", () =>
    Effect.gen(function*() {
      const { started, fetch, maxRunning } = yield* makeFetches(2)
      for (let i = 0; i < 8; i++) yield* fetch(`slow${i}`, 30)
      yield* TestClock.adjust("25 seconds")
      assert.deepStrictEqual([started.length, maxRunning()], [6, 6])
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual([started.length, maxRunning()], [8, 6])
    }))

  it.effect("gets back the permits of interrupted fetches, waiting or running", () =>
    Effect.gen(function*() {
      const { started, fetch } = yield* makeFetches(1)
      const first = yield* fetch("first", 1)
      const second = yield* fetch("second", 1)
      yield* fetch("third", 1)
      yield* Fiber.interrupt(second)
      yield* Fiber.interrupt(first)
      yield* TestClock.adjust("1 second")
      yield* fetch("fourth", 1)
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(started, ["first 0s", "third 0s", "fourth 1s"])
    }))
})
