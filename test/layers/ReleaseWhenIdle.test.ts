import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { performance } from "node:perf_hooks"
import { makeRelease, makeShareOf, watchLoad } from "#layers/ReleaseWhenIdle.ts"

/** The looks, counted from 1, after which a release is tried, for the shares of the event loop's time at each look. The first `failures` fail. */
const releasesOf = (shares: ReadonlyArray<number>, failures = 0, wasBusyBefore = false) =>
  Effect.gen(function*() {
    let looks = 0
    const releases: Array<number> = []
    yield* Effect.forkScoped(
      watchLoad(
        () => shares[looks++] ?? assert.fail("a look too many"),
        Effect.sync(() => releases.push(looks) > failures),
        wasBusyBefore
      )
    )
    yield* TestClock.adjust(shares.length * 10_000)
    assert.strictEqual(looks, shares.length)
    return releases
  })

const repeat = (share: number, looks: number) => Array.from({ length: looks }, () => share)

describe("watchLoad", () => {
  it.effect("releases once when a load has ended two minutes ago, and again after the next load", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* releasesOf([0.2, ...repeat(0.1, 30), 1, ...repeat(0, 13)]), [13, 44])
    }))

  it.effect("releases nothing without a load, and while the event loop is not idle for two minutes", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* releasesOf(repeat(0.19, 40)), [])
      assert.deepStrictEqual(yield* releasesOf([...repeat(0.15, 5), ...repeat(0, 40)]), [])
      assert.deepStrictEqual(yield* releasesOf([0.9, ...repeat(0, 11), 0.11, ...repeat(0, 11)]), [])
    }))

  it.effect("releases two minutes later what a start has left", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* releasesOf(repeat(0.1, 20), 0, true), [12])
    }))

  it.effect("tries again while the heap is too large, until there is load", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* releasesOf([1, ...repeat(0, 20)], 3), [13, 14, 15, 16])
      assert.deepStrictEqual(yield* releasesOf([1, ...repeat(0, 13), 1, ...repeat(0, 13)], 2), [13, 14, 27])
    }))
})

describe("makeRelease", () => {
  const releaseWith = (heapBytes: number) =>
    Effect.gen(function*() {
      const done: Array<string> = []
      const release = yield* Effect.forkChild(makeRelease({
        heapBytes: () => heapBytes,
        collect: () => done.push("collected"),
        trim: () => done.push("trimmed")
      }))
      yield* TestClock.adjust("1999 millis")
      const early = done.slice()
      yield* TestClock.adjust("1 millis")
      return [early, done, yield* Fiber.join(release)]
    })

  it.effect("collects a small heap, and returns the pools two seconds later", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* releaseWith(96 * 1024 * 1024), [["collected"], ["collected", "trimmed"], true])
      assert.deepStrictEqual(yield* releaseWith(96 * 1024 * 1024 + 1), [[], [], false])
    }))
})

describe("makeShareOf", () => {
  it("gives the share since the last call", () => {
    const totals = [[100, 0], [100, 100], [150, 150], [150, 250]].map(([idle = 0, active = 0]) => ({
      idle,
      active,
      utilization: active / (active + idle)
    }))
    const shareOf = makeShareOf((now, last) =>
      now === undefined ? totals.shift() ?? assert.fail() : performance.eventLoopUtilization(now, last)
    )
    assert.deepStrictEqual([shareOf(), shareOf(), shareOf()], [1, 0.5, 1])
  })
})
