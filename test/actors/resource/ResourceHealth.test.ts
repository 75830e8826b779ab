import { assert, describe, it } from "@effect/vitest"
import { ResourceHealth } from "#actors/resource/ResourceHealth.ts"

describe("ResourceHealth", () => {
  it("counts a failing resource once, until a success or its last subscription ends", () => {
    const health = new ResourceHealth()
    health.addFailing([1, 2])
    health.note({ id: 1, failures: 2, subscribers: 1 })
    health.note({ id: 3, failures: 1, subscribers: 1 })
    health.note({ id: 4, failures: 1, subscribers: 0 })
    assert.strictEqual(health.failingCount, 3)
    health.note({ id: 2, failures: 0, subscribers: 1 })
    health.note({ id: 3, failures: 1, subscribers: 0 })
    assert.strictEqual(health.failingCount, 1)
  })

  it("counts the resources that wait for their host since before a time", () => {
    const health = new ResourceHealth()
    health.noteWait(1, 1_000)
    health.noteWait(2, 2_000)
    health.noteWait(3, 500)
    assert.strictEqual(health.countWaitingSince(2_000), 2)
    health.noteStart(3)
    health.note({ id: 1, failures: 0, subscribers: 0 })
    assert.deepStrictEqual([health.countWaitingSince(2_001), health.isWaiting(1), health.isWaiting(2)], [
      1,
      false,
      true
    ])
  })
})
