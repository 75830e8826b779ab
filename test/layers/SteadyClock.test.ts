import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import * as SteadyClock from "#layers/SteadyClock.ts"

const hour = 3_600_000

/** A steady clock over two clocks that the test moves. */
const make = () => {
  const time = { wall: 10 * hour, monotonic: 5 }
  const clock = SteadyClock.makeSteadyClock({ wall: () => time.wall, monotonic: () => time.monotonic })
  const pass = (milliseconds: number) => {
    time.wall += milliseconds
    time.monotonic += milliseconds
  }
  return { time, clock, pass }
}

describe("SteadyClock", () => {
  it("is the system's time, and follows jumps forward", () => {
    const { time, clock, pass } = make()
    assert.strictEqual(clock.now(), 10 * hour)
    pass(1_500)
    assert.strictEqual(clock.now(), 10 * hour + 1_500)
    time.wall += hour
    assert.strictEqual(clock.now(), 11 * hour + 1_500)
    assert.strictEqual(clock.ahead(), 0)
  })

  it("continues 1 % slower after the system's clock is set back, until both agree", () => {
    const { time, clock, pass } = make()
    time.wall -= hour
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
    assert.strictEqual(clock.now(), time.wall)
  })

  it.live("is the clock of the service", () =>
    Effect.gen(function*() {
      const before = Date.now()
      const now = yield* Clock.currentTimeMillis
      assert.isAtLeast(now, before)
      assert.isAtMost(now, Date.now())
      yield* Effect.sleep("1 millis")
      assert.notStrictEqual(yield* Clock.Clock, Clock.Clock.defaultValue())
    }).pipe(Effect.provide(SteadyClock.layer)))
})
