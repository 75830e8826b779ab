import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as FetchLimiter from "#actors/limits/FetchLimiter.ts"

const played = Effect.fnUntraced(function*(width: number) {
  const places = yield* FetchLimiter.make(width)
  const begun: Array<string> = []
  let running = 0
  let most = 0
  const fetch = (name: string, seconds: number) =>
    places.run(
      Effect.gen(function*() {
        begun.push(`${name} ${(yield* Clock.currentTimeMillis) / 1000}s`)
        most = Math.max(most, ++running)
        yield* Effect.sleep(seconds * 1000)
      }).pipe(Effect.ensuring(Effect.sync(() => running--)))
    ).pipe(Effect.forkChild({ startImmediately: true }))
  return { fetch, begun, most: () => most }
})

describe("places of fetches", () => {
  it.effect("go from one fetch to the next, in order", () =>
    Effect.gen(function*() {
      const { begun, fetch, most } = yield* played(2)
      for (const name of ["a", "b", "c", "d", "e"]) yield* fetch(name, 1)
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual([begun, most()], [["a 0s", "b 0s", "c 1s", "d 1s", "e 2s"], 2])
    }))

  it.effect("are given up after two seconds to those who wait, and kept when nobody does", () =>
    Effect.gen(function*() {
      const { begun, fetch, most } = yield* played(2)
      yield* fetch("slow", 30)
      yield* TestClock.adjust("10 seconds")
      yield* fetch("slow too", 30)
      yield* fetch("a", 1)
      yield* fetch("b", 1)
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual([begun.slice(2), most()], [["a 10.001s", "b 11.001s"], 3])
    }))

  it.effect("beside twice their number of slow fetches there are none", () =>
    Effect.gen(function*() {
      const { begun, fetch, most } = yield* played(2)
      for (let i = 0; i < 8; i++) yield* fetch(`slow${i}`, 30)
      yield* TestClock.adjust("25 seconds")
      assert.deepStrictEqual([begun.length, most()], [6, 6])
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual([begun.length, most()], [8, 6])
    }))

  it.effect("are not lost to who is interrupted, while it waits or when it has one", () =>
    Effect.gen(function*() {
      const { begun, fetch } = yield* played(1)
      const first = yield* fetch("first", 1)
      const second = yield* fetch("second", 1)
      yield* fetch("third", 1)
      yield* Fiber.interrupt(second)
      yield* Fiber.interrupt(first)
      yield* TestClock.adjust("1 second")
      yield* fetch("fourth", 1)
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(begun, ["first 0s", "third 0s", "fourth 1s"])
    }))
})
