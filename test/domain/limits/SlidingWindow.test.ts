import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { addRequest, nextAllowedAt, type SlidingWindow } from "#domain/limits/SlidingWindow.ts"

describe("Turns", () => {
  it("come at once until a minute is full, then a minute after the oldest of them", () => {
    assert.deepStrictEqual(
      [
        nextAllowedAt([], 5, 2),
        nextAllowedAt([1], 5, 2),
        nextAllowedAt([1, 3], 5, 2),
        nextAllowedAt([1, 3], 70_000, 2)
      ],
      [5, 5, 60_001, 70_000]
    )
    assert.deepStrictEqual(addRequest([1, 3], 60_001, 2), [3, 60_001])
  })

  it("hold under a bound that was lowered meanwhile", () => {
    assert.strictEqual(nextAllowedAt([1, 2, 3], 5, 1), 60_003)
    assert.deepStrictEqual(addRequest([1, 2, 3], 60_003, 1), [60_003])
  })

  it("never hold more than a minute may, whenever they are taken", () => {
    fc.assert(fc.property(
      fc.array(fc.integer({ min: 0, max: 20_000 }), { maxLength: 60 }),
      fc.integer({ min: 1, max: 7 }),
      (pauses, perMinute) => {
        let now = 0
        let turns: SlidingWindow = []
        const all: Array<number> = []
        for (const pause of pauses) {
          now += pause
          if (nextAllowedAt(turns, now, perMinute) > now) continue
          turns = addRequest(turns, now, perMinute)
          all.push(now)
        }
        for (const start of all) {
          assert.isAtMost(all.filter((at) => at >= start && at < start + 60_000).length, perMinute)
        }
      }
    ))
  })
})
