import { assert, describe, it } from "@effect/vitest"
import { decodeEntries, keepDecoded } from "#layers/sql/StoredJson.ts"

describe("keepDecoded", () => {
  it("gives equal texts the same value, and other texts others", () => {
    const decode = keepDecoded(decodeEntries, 1_000)
    const [a, b] = [decode(`[{"id":"a"}]`), decode(`[{"id":"b"}]`)]
    assert.deepStrictEqual([a, b], [[{ id: "a" }], [{ id: "b" }]])
    assert.strictEqual(decode(`[{"id":"a"}]`), a)
    assert.strictEqual(decode(`[{"id":"b"}]`), b)
  })

  it("keeps as many characters as it may, and begins anew after misses of 16 times as many", () => {
    const decoded: Array<string> = []
    const decode = keepDecoded((json) => {
      decoded.push(json)
      return { json }
    }, 20)
    const decodeAll = (...texts: ReadonlyArray<string>) => {
      decoded.length = 0
      texts.forEach((text) => assert.deepStrictEqual(decode(text), { json: text }))
      return decoded.slice()
    }
    const [a, b, c, long] = ["a", "b", "c", "d"].map((letter, i) => letter.repeat(i < 3 ? 10 : 21)) as [
      string,
      string,
      string,
      string
    ]
    assert.deepStrictEqual(decodeAll(a, b, a, b), [a, b])
    assert.deepStrictEqual(decodeAll(c, a, b, c, long, long), [c, c, long, long])
    const misses = Array.from({ length: 23 }, () => c) // with those above, 312 of 320 characters
    decodeAll(...misses)
    assert.deepStrictEqual(decodeAll(a, b), [])
    assert.deepStrictEqual(decodeAll(c, c, a, a, b, c, b), [c, a, b, b])
  })

  it("counts short texts as longer ones", () => {
    let decoded = 0
    const decode = keepDecoded((json) => ({ json, number: decoded++ }), 20, 10)
    for (const json of ["a", "b", "c", "a", "b", "c"]) assert.strictEqual(decode(json).json, json)
    assert.strictEqual(decoded, 4)
  })
})
