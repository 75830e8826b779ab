import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { watchLoad } from "#layers/ReleaseWhenIdle.ts"

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
