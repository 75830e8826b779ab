import { afterEach, assert, beforeEach, describe, it, vi } from "@effect/vitest"
import { selectCss } from "#layers/workers/selector/Css.ts"
import { selectJson } from "#layers/workers/selector/JsonPath.ts"
import { hasFewNodes, TreeCache } from "#layers/workers/selector/TreeCache.ts"

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

/** A cache whose trees are the words of documents, with the documents that were read. */
const counting = (isSmall: (words: ReadonlyArray<string>) => boolean = () => true) => {
  const read: Array<string> = []
  const trees = new TreeCache((bytes, reading) => {
    const text = new TextDecoder(reading).decode(bytes)
    read.push(`${reading} ${text.slice(0, 5)}`)
    return text.split(" ")
  }, isSmall)
  return { read, trees }
}

describe("TreeCache", () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it("builds the tree of a document once for all fragments, and again for another charset", () => {
    const { read, trees } = counting()
    const first = trees.get(bytes("a é"), "utf-8")
    assert.strictEqual(trees.get(bytes("a é"), "utf-8"), first)
    assert.deepStrictEqual(trees.get(bytes("a é"), "latin1"), ["a", "Ã©"])
    assert.deepStrictEqual(trees.get(bytes("a e"), "latin1"), ["a", "e"])
    assert.deepStrictEqual(read, ["utf-8 a é", "latin1 a Ã©", "latin1 a e"])
  })

  it("keeps the last tree of all kinds", () => {
    const [one, other] = [counting(), counting()]
    one.trees.get(bytes("a"), "utf-8")
    one.trees.get(bytes("b"), "utf-8")
    one.trees.get(bytes("a"), "utf-8")
    assert.strictEqual(one.read.length, 3)
    other.trees.get(bytes("a"), "utf-8")
    other.trees.get(bytes("a"), "utf-8")
    assert.strictEqual(other.read.length, 1)
    one.trees.get(bytes("a"), "utf-8")
    assert.strictEqual(one.read.length, 4)
  })

  it("drops a tree before it builds another one", () => {
    const small = counting()
    const looking = new TreeCache(() => small.trees.get(bytes("a"), "utf-8"), () => true)
    small.trees.get(bytes("a"), "utf-8")
    looking.get(bytes("b"), "utf-8")
    assert.strictEqual(small.read.length, 2)
  })

  it("keeps no tree of a document above 1 MB, and no large tree", () => {
    const { read, trees } = counting((words) => words.length < 3)
    const ask = (text: string) => void trees.get(bytes(text), "utf-8")
    const mebibyte = 1024 * 1024
    for (const text of ["a".repeat(mebibyte), "b".repeat(mebibyte + 1), "c c", "d d d"]) {
      ask(text)
      ask(text)
    }
    assert.deepStrictEqual(read.map((one) => one.at(-1)), ["a", "b", "b", "c", "d", "d"])
  })

  it("drops a tree ten seconds after it was built, even if it is in constant use", () => {
    const { read, trees } = counting()
    trees.get(bytes("a"), "utf-8")
    vi.advanceTimersByTime(5_000)
    trees.get(bytes("b"), "utf-8")
    vi.advanceTimersByTime(9_999)
    trees.get(bytes("b"), "utf-8")
    assert.strictEqual(read.length, 2)
    vi.advanceTimersByTime(1)
    trees.get(bytes("b"), "utf-8")
    assert.strictEqual(read.length, 3)
  })

  it("keeps no tree that fails to build", () => {
    const trees = new TreeCache(() => {
      throw new Error("no tree")
    }, () => true)
    assert.throws(() => trees.get(bytes("a"), ""), "no tree")
    assert.throws(() => trees.get(bytes("a"), ""), "no tree")
  })
})

/** A tree of numbers with this many nodes below the root. */
const wide = (many: number) => hasFewNodes([many], (node) => Array.from({ length: node }, () => 0))

describe("hasFewNodes", () => {
  it("counts nested nodes, too, and stops at the maximum", () => {
    assert.isTrue(wide(29_999))
    assert.isFalse(wide(30_000))
    assert.isTrue(hasFewNodes([29_999], (node) => node > 0 ? [node - 1] : []))
    assert.isFalse(hasFewNodes([30_000], (node) => node > 0 ? [node - 1] : []))
    assert.isFalse(hasFewNodes([0], (node) => [node]))
  })
})

const inHtml = (document: string) => selectCss(bytes(document), undefined, "i", "html")
const inXml = (document: string) => selectCss(bytes(document), undefined, "i", "xml")
const inJson = (document: string) => selectJson(bytes(document), undefined, "$[0]")

/** Start tags that HTML reopens in each paragraph. */
const formatting = Array.from({ length: 200 }, (_, i) => `<b a=${i}>`).join("")

const trees: ReadonlyArray<readonly [document: string, select: () => unknown, isKept: boolean]> = [
  ["a page", () => inHtml("<p a>x</p>".repeat(9_000)), true],
  ["a page of elements", () => inHtml("<p></p>".repeat(31_000)), false],
  ["a page of attributes", () => inHtml("<p a b></p>".repeat(10_000)), false],
  ["a page of elements that are opened again and again", () => inHtml(`<p>${formatting}${"<p>x".repeat(100)}`), false],
  ["elements within each other", () => inXml("<a>".repeat(31_000)), false],
  ["an XML document", () => inXml(`<r>${"<a b='c'/>".repeat(14_000)}</r>`), true],
  ["JSON", () => inJson(`[${"[0],".repeat(14_000)}0]`), true],
  ["JSON with many values", () => inJson(`[${"[0],".repeat(16_000)}0]`), false],
  ["JSON that is read twice for the digits of its ids", () => inJson(`[${"0,".repeat(16_000)}9007199254740993]`), false]
]

describe("cached trees of documents", () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it.each(trees)("%s", (_, select, isKept) => {
    select()
    // a cached tree has a timer
    assert.strictEqual(vi.getTimerCount(), isKept ? 1 : 0)
  })
})
