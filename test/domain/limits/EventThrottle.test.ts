import { assert, describe, it } from "@effect/vitest"
import { EventThrottle } from "#domain/limits/EventThrottle.ts"

const admitted = (throttle: EventThrottle, accountId: number, type: string, count: number, now = 0): number =>
  Array.from({ length: count }, () => throttle.admit(accountId, type, now)).filter(Boolean).length

describe("EventThrottle", () => {
  it("admits 20 events of a type in a minute to each log, and counts the others", () => {
    const throttle = new EventThrottle()
    assert.strictEqual(admitted(throttle, 7, "subscription.failing", 100_000, 1_000), 20)
    assert.strictEqual(admitted(throttle, 8, "subscription.failing", 20, 1_000), 20)
    assert.strictEqual(admitted(throttle, 7, "resource.failing", 3, 1_000), 3)
    assert.strictEqual(admitted(throttle, 0, "subscription.failing", 25, 2_000), 20)
    assert.deepStrictEqual(throttle.takeOmitted(999), [])
    assert.deepStrictEqual(throttle.takeOmitted(1_000), [{
      accountId: 7,
      event: {
        type: "events.omitted",
        accountId: 7,
        omittedType: "subscription.failing",
        count: 99_980,
        since: 1_000
      }
    }])
    assert.deepStrictEqual(throttle.takeOmitted(2_000), [{
      accountId: 0,
      event: { type: "events.omitted", omittedType: "subscription.failing", count: 5, since: 2_000 }
    }])
    assert.deepStrictEqual(throttle.takeOmitted(Infinity), [])
    assert.isTrue(throttle.admit(7, "subscription.failing", 61_000))
  })

  it("bounds its memory: events of further logs reach the operators only", () => {
    const throttle = new EventThrottle()
    for (let id = 1; id <= 20_000; id++) throttle.admit(id, "resource.gone", 0)
    assert.isFalse(throttle.admit(20_001, "resource.gone", 0))
    assert.isTrue(throttle.admit(20_000, "resource.gone", 0))
    assert.isTrue(throttle.admit(0, "resource.gone", 0))
    throttle.takeOmitted(0)
    assert.isTrue(throttle.admit(20_001, "resource.gone", 60_000))
  })
})
