import { assert, describe, it } from "@effect/vitest"
import { MemoryBudget } from "#http/MemoryBudget.ts"

describe("room for bodies", () => {
  it("is bounded for each and for all, and comes back once they leave", () => {
    const room = new MemoryBudget({ each: 100, all: 150 })
    const [a, b] = [room.enter("a", 10), room.enter("b", 10)]
    assert.isTrue(a?.grow(100))
    assert.isFalse(a?.grow(1))
    assert.isUndefined(room.enter("a", 1))
    assert.isTrue(b?.grow(50))
    assert.isFalse(b?.grow(1))
    assert.isUndefined(room.enter("c", 1))
    a?.leave()
    assert.isTrue(b?.grow(40))
    assert.isDefined(room.enter("a", 50))
  })

  it("counts what has come, and the least until then", () => {
    const room = new MemoryBudget({ each: 100, all: 100 })
    const place = room.enter("a", 40)
    assert.isTrue(place?.grow(30))
    assert.isUndefined(room.enter("b", 61))
    assert.isDefined(room.enter("b", 60))
    assert.isFalse(place?.grow(11))
  })
})
