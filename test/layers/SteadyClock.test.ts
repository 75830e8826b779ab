import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import * as SteadyClock from "#layers/SteadyClock.ts"

const hour = 3_600_000

/** A clock over two that the test turns. */
const make = () => {
  const at = { wall: 10 * hour, monotonic: 5 }
  const clock = SteadyClock.steady({ wall: () => at.wall, monotonic: () => at.monotonic })
  const pass = (milliseconds: number) => {
    at.wall += milliseconds
    at.monotonic += milliseconds
  }
  return { at, clock, pass }
}

describe("SteadyClock", () => {
  it("is the system's time, and follows it forward", () => {
    const { at, clock, pass } = make()
    assert.strictEqual(clock.now(), 10 * hour)
    pass(1_500)
    assert.strictEqual(clock.now(), 10 * hour + 1_500)
    at.wall += hour
    assert.strictEqual(clock.now(), 11 * hour + 1_500)
    assert.strictEqual(clock.ahead(), 0)
  })

  it("goes on when the system's is set back, a hundredth slower, until they agree", () => {
    const { at, clock, pass } = make()
    at.wall -= hour
    assert.strictEqual(clock.now(), 10 * hour)
    pass(1_000)
    assert.strictEqual(clock.now(), 10 * hour + 990)
    assert.strictEqual(clock.ahead(), hour - 10)
    for (let hours = 0; hours < 100; hours++) {
      const before = clock.now()
      pass(hour)
      assert.isAbove(clock.now(), before)
    }
    assert.strictEqual(clock.ahead(), 0)
    pass(1_000)
    assert.strictEqual(clock.now(), at.wall)
  })

  it.live("is what the service reads", () =>
    Effect.gen(function*() {
      const before = Date.now()
      const now = yield* Clock.currentTimeMillis
      assert.isAtLeast(now, before)
      assert.isAtMost(now, Date.now())
      yield* Effect.sleep("1 millis")
      assert.notStrictEqual(yield* Clock.Clock, Clock.Clock.defaultValue())
    }).pipe(Effect.provide(SteadyClock.layer)))
})
