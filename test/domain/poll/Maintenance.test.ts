import { assert, describe, it } from "@effect/vitest"
import { isMaintenanceDue, maintain } from "#domain/poll/Maintenance.ts"
import { initialState } from "#test/support/Resources.ts"

const day = 86_400_000

describe("Maintenance", () => {
  it("begins with the first document, then once a day", () => {
    assert.isFalse(isMaintenanceDue(initialState(), 5 * day))
    assert.isTrue(isMaintenanceDue(initialState({ lastParse: 1000 }), 1000))
    assert.isFalse(isMaintenanceDue(initialState({ lastParse: 1000, lastMaintenanceAt: 1000 }), 1000 + day - 1))
    assert.isTrue(isMaintenanceDue(initialState({ lastParse: 1000, lastMaintenanceAt: 1000 }), 1000 + day))
  })

  it("counts no entries of the first document, and invents no velocity", () => {
    const state = maintain(initialState({ lastParse: 1000, entriesSinceMaintenance: 25 }), 1000)
    assert.deepStrictEqual([state.entriesSinceMaintenance, state.velocity, state.lastMaintenanceAt], [
      0,
      undefined,
      1000
    ])
  })

  it("knows the entries a day, however long the cycle took", () => {
    const first = maintain(initialState({ lastMaintenanceAt: 0, entriesSinceMaintenance: 30 }), 1.5 * day)
    assert.strictEqual(first.velocity, 20)
    const second = maintain({ ...first, entriesSinceMaintenance: 5 }, 2.5 * day)
    assert.strictEqual(second.velocity, 12.5)
    assert.strictEqual(maintain(second, 3.5 * day).velocity, 6.25)
  })

  it("knows how popular a resource is by its subscribers", () => {
    const popularity = (subscribers: number) => maintain(initialState({ subscribers }), 0).popularity
    assert.deepStrictEqual([0, 1, 9, 99, 999].map(popularity), [0, 0.3, 1, 2, 3])
  })

  it("keeps no rank that is not known any more", () => {
    assert.strictEqual(maintain(initialState({ pornRank: 0.5 }), day, 0.25).pornRank, 0.25)
    assert.notProperty(maintain(initialState({ pornRank: 0.5 }), day), "pornRank")
  })
})
