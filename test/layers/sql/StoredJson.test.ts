import { assert, describe, it } from "@effect/vitest"
import { makeDecodeEntries } from "#layers/sql/StoredJson.ts"

const pageOf = (id: string, length: number) =>
  JSON.stringify([{ id, content: [{ value: "x".repeat(length), type: "text" }] }])

describe("makeDecodeEntries", () => {
  it("gives equal texts the same entries, and other texts others", () => {
    const decode = makeDecodeEntries()
    const [a, other] = [decode(pageOf("a", 10)), decode(pageOf("b", 10))]
    assert.deepStrictEqual(a, [{ id: "a", content: [{ value: "xxxxxxxxxx", type: "text" }] }])
    assert.deepStrictEqual(other, [{ id: "b", content: [{ value: "xxxxxxxxxx", type: "text" }] }])
    assert.strictEqual(decode(pageOf("a", 10)), a)
    assert.strictEqual(decode(pageOf("b", 10)), other)
  })

  it("keeps 2 MiB of text, and drops the page that was read the longest time ago", () => {
    const decode = makeDecodeEntries()
    const decodePage = (id: string) => decode(pageOf(id, 700 * 1024))
    const [a, b] = [decodePage("a"), decodePage("b")]
    assert.strictEqual(decodePage("a"), a)
    const c = decodePage("c")
    assert.strictEqual(decodePage("a"), a)
    assert.strictEqual(decodePage("c"), c)
    assert.notStrictEqual(decodePage("b"), b)
  })
})
