import { assert, describe, it } from "@effect/vitest"
import { MemoryBudget } from "#http/MemoryBudget.ts"

describe("MemoryBudget", () => {
  it("limits each key and the total, until reservations are released", () => {
    const budget = new MemoryBudget({ maxPerKey: 100, maxTotal: 150 })
    const [a, b] = [budget.reserve("a", 10), budget.reserve("b", 10)]
    assert.isTrue(a?.grow(100))
    assert.isFalse(a?.grow(1))
    assert.isUndefined(budget.reserve("a", 1))
    assert.isTrue(b?.grow(50))
    assert.isFalse(b?.grow(1))
    assert.isUndefined(budget.reserve("c", 1))
    a?.release()
    assert.isTrue(b?.grow(40))
    assert.isDefined(budget.reserve("a", 50))
  })

  it("counts received bytes, and at least the reserved minimum", () => {
    const budget = new MemoryBudget({ maxPerKey: 100, maxTotal: 100 })
    const reservation = budget.reserve("a", 40)
    assert.isTrue(reservation?.grow(30))
    assert.isUndefined(budget.reserve("b", 61))
    assert.isDefined(budget.reserve("b", 60))
    assert.isFalse(reservation?.grow(11))
  })
})
