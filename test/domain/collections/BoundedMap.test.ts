import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { BoundedMap } from "#domain/collections/BoundedMap.ts"

describe("BoundedMap", () => {
  it("drops the entry that was set first", () => {
    const map = new BoundedMap<string, number>(2).set("a", 1).set("b", 2).set("c", 3)
    assert.deepStrictEqual([...map], [["b", 2], ["c", 3]])
    assert.deepStrictEqual([map.get("a"), map.has("a"), map.get("b"), map.has("b"), map.size], [
      undefined,
      false,
      2,
      true,
      2
    ])
  })

  it("makes an entry that is set again the youngest one", () => {
    const map = new BoundedMap<string, number>(2).set("a", 1).set("b", 2).set("a", 3).set("c", 4)
    assert.deepStrictEqual([...map.keys()], ["a", "c"])
    assert.deepStrictEqual([...map.values()], [3, 4])
  })

  it("drops the least recently used entry with touchOnGet", () => {
    const map = new BoundedMap<string, number>(2, { touchOnGet: true }).set("a", 1).set("b", 2)
    assert.deepStrictEqual([map.get("a"), map.get("z")], [1, undefined])
    assert.deepStrictEqual([...map.set("c", 3).keys()], ["a", "c"])
  })

  it("bounds the weight of its entries", () => {
    const map = new BoundedMap<string, string>(9, { weightOf: ({ length }) => length, maxWeight: 5 })
    map.set("a", "aa").set("b", "bb")
    assert.deepStrictEqual([...map.set("c", "cc").keys()], ["b", "c"])
    assert.deepStrictEqual([...map.set("b", "b").keys()], ["c", "b"])
    assert.deepStrictEqual([...map.set("d", "dd").keys()], ["c", "b", "d"])
    assert.deepStrictEqual([...map.set("e", "eeeeee").keys()], ["c", "b", "d"])
    map.clear()
    assert.deepStrictEqual([...map.set("f", "fffff").keys()], ["f"])
  })

  it("reports dropped entries, and no deleted ones", () => {
    const dropped: Array<[string, number]> = []
    const map = new BoundedMap<string, number>(2, { onDrop: (value, key) => dropped.push([key, value]) })
    map.set("a", 1).set("b", 2).set("a", 3)
    assert.deepStrictEqual([map.delete("a"), map.delete("a")], [true, false])
    map.set("c", 4).set("d", 5)
    assert.deepStrictEqual(dropped, [["b", 2]])
    map.dropOldestWhile((value) => value < 5)
    assert.deepStrictEqual([dropped, [...map]], [[["b", 2], ["c", 4]], [["d", 5]]])
  })

  it("keeps the last entries of a model, whatever happens", () => {
    const step = fc.tuple(fc.constantFrom("set", "get", "delete"), fc.integer({ min: 0, max: 8 }))
    fc.assert(fc.property(fc.array(step, { maxLength: 80 }), fc.integer({ min: 0, max: 5 }), (steps, max) => {
      const map = new BoundedMap<number, number>(max, { touchOnGet: true })
      let model: Array<[number, number]> = []
      for (const [at, [name, key]] of steps.entries()) {
        const known = model.find(([other]) => other === key)
        const rest = model.filter(([other]) => other !== key)
        if (name === "get") {
          assert.strictEqual(map.get(key), known?.[1])
          model = known === undefined ? rest : [...rest, known]
        } else if (name === "delete") {
          assert.strictEqual(map.delete(key), known !== undefined)
          model = rest
        } else {
          map.set(key, at)
          model = max === 0 ? [] : [...rest, [key, at] as [number, number]].slice(-max)
        }
        assert.deepStrictEqual([...map], model)
      }
    }))
  })
})
