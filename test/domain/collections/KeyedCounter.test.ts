import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { KeyedCounter } from "#domain/collections/KeyedCounter.ts"

describe("KeyedCounter", () => {
  it("counts by key and in total, and forgets a key at 0", () => {
    const counter = new KeyedCounter()
    assert.deepStrictEqual([counter.tryAdd("a"), counter.tryAdd("a", 4), counter.tryAdd("b")], [true, true, true])
    assert.deepStrictEqual([counter.get("a"), counter.get("b"), counter.get("c")], [5, 1, 0])
    assert.deepStrictEqual([counter.total, counter.size], [6, 2])
    assert.deepStrictEqual([counter.remove("a", 4), counter.remove("a"), counter.remove("b")], [false, true, true])
    assert.deepStrictEqual([counter.total, counter.size], [0, 0])
  })

  it("rejects an amount beyond the maximum of a key", () => {
    const counter = new KeyedCounter({ maxPerKey: 2 })
    assert.deepStrictEqual([counter.tryAdd("a", 3), counter.tryAdd("a", 2), counter.tryAdd("a")], [false, true, false])
    assert.deepStrictEqual([counter.hasRoom("a"), counter.hasRoom("b", 2), counter.hasRoom("b", 3)], [
      false,
      true,
      false
    ])
    assert.strictEqual(counter.get("a"), 2)
  })

  it("rejects an amount beyond the maximum of the total", () => {
    const counter = new KeyedCounter({ maxTotal: 3 })
    assert.deepStrictEqual([counter.tryAdd("a", 2), counter.tryAdd("b", 2), counter.tryAdd("b")], [true, false, true])
    assert.deepStrictEqual([counter.hasRoom("c"), counter.total], [false, 3])
  })

  it("counts the key undefined towards the total only", () => {
    const counter = new KeyedCounter({ maxPerKey: 1, maxTotal: 3 })
    assert.deepStrictEqual([counter.tryAdd(undefined, 2), counter.tryAdd(undefined), counter.tryAdd("a")], [
      true,
      true,
      false
    ])
    assert.deepStrictEqual([counter.remove(undefined), counter.tryAdd("a"), counter.size], [false, true, 1])
  })

  it("always has room for 0", () => {
    const counter = new KeyedCounter({ maxPerKey: 0, maxTotal: 0 })
    assert.deepStrictEqual([counter.tryAdd("a", 0), counter.tryAdd("a"), counter.size], [true, false, 0])
  })

  it("never exceeds its maxima, and its total is the sum of its counts", () => {
    const key = fc.constantFrom("a", "b", "c")
    fc.assert(fc.property(
      fc.array(fc.tuple(key, fc.integer({ min: 0, max: 4 })), { maxLength: 60 }),
      fc.integer({ min: 0, max: 6 }),
      fc.integer({ min: 0, max: 10 }),
      (amounts, maxPerKey, maxTotal) => {
        const counter = new KeyedCounter({ maxPerKey, maxTotal })
        const added: Array<[string, number]> = []
        for (const [key, amount] of amounts) {
          if (counter.tryAdd(key, amount)) added.push([key, amount])
          const counts = ["a", "b", "c"].map((key) => counter.get(key))
          assert.isTrue(counts.every((count) => count <= maxPerKey) && counter.total <= maxTotal)
          assert.strictEqual(counter.total, counts.reduce((sum, count) => sum + count, 0))
        }
        for (const [key, amount] of added) counter.remove(key, amount)
        assert.deepStrictEqual([counter.total, counter.size], [0, 0])
      }
    ))
  })
})
