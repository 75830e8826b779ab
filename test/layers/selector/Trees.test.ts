import { afterEach, assert, beforeEach, describe, it, vi } from "@effect/vitest"
import { Trees } from "#layers/selector/Trees.ts"

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

/** Trees that are the words of their documents, and which documents were read. */
const counting = () => {
  const read: Array<string> = []
  const trees = new Trees((bytes, reading) => {
    const text = new TextDecoder(reading).decode(bytes)
    read.push(`${reading} ${text.slice(0, 5)}`)
    return text.split(" ")
  })
  return { read, trees }
}

describe("Trees", () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it("reads a document once for all fragments of it, and again when it is read in another way", () => {
    const { read, trees } = counting()
    const first = trees.of(bytes("a é"), "utf-8")
    assert.strictEqual(trees.of(bytes("a é"), "utf-8"), first)
    assert.deepStrictEqual(trees.of(bytes("a é"), "latin1"), ["a", "Ã©"])
    assert.deepStrictEqual(trees.of(bytes("a e"), "utf-8"), ["a", "e"])
    assert.strictEqual(trees.of(bytes("a é"), "utf-8"), first)
    assert.deepStrictEqual(read, ["utf-8 a é", "latin1 a Ã©", "utf-8 a e"])
  })

  it("keeps two megabytes of them, those asked for last, and none that is larger", () => {
    const { read, trees } = counting()
    const large = (letter: string, size: number) => trees.of(bytes(letter.repeat(size)), "utf-8")
    const half = 1024 * 1024
    for (const letter of ["a", "b", "a", "c", "a", "b"]) large(letter, half)
    assert.deepStrictEqual(read.map((one) => one.at(-1)), ["a", "b", "c", "b"])
    large("d", 2 * half + 1)
    large("d", 2 * half + 1)
    large("b", half)
    assert.deepStrictEqual(read.slice(4).map((one) => one.at(-1)), ["d", "d"])
  })

  it("lets go of them when nobody has asked for ten seconds", () => {
    const { read, trees } = counting()
    trees.of(bytes("a"), "utf-8")
    vi.advanceTimersByTime(9_999)
    trees.of(bytes("a"), "utf-8")
    vi.advanceTimersByTime(9_999)
    trees.of(bytes("a"), "utf-8")
    assert.strictEqual(read.length, 1)
    vi.advanceTimersByTime(10_000)
    trees.of(bytes("a"), "utf-8")
    assert.strictEqual(read.length, 2)
  })

  it("keeps none that cannot be built", () => {
    const trees = new Trees(() => {
      throw new Error("no tree")
    })
    assert.throws(() => trees.of(bytes("a"), ""), "no tree")
    assert.throws(() => trees.of(bytes("a"), ""), "no tree")
  })
})
