import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { readFeed } from "#domain/normalize/ReadFeed.ts"
import { makeFeedDocument, styles } from "#scripts/feeds/FeedDocuments.ts"
import { makeRandom } from "#scripts/feeds/Random.ts"

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)

const feedOf = (bytes: Uint8Array, seenSlices?: ReadonlySet<bigint>) => {
  const result = readFeed(bytes, seenSlices === undefined ? {} : { seenSlices })
  if (result._tag === "NotFeed") throw new Error(result.reason)
  return result
}

describe("reading in two stages", () => {
  it("gives the same entries as reading the whole document, for any seen entries", () => {
    const documents = fc.record({
      style: fc.constantFrom(...styles),
      seed: fc.nat(),
      entries: fc.integer({ min: 1, max: 40 }),
      bytes: fc.integer({ min: 100, max: 4000 }),
      seen: fc.infiniteStream(fc.boolean())
    })
    fc.assert(
      fc.property(documents, ({ style, seed, entries, bytes, seen }) => {
        const document = encode(makeFeedDocument(makeRandom(seed), style, entries, bytes).text)
        const whole = feedOf(document)
        const slices = whole.slices ?? []
        assert.strictEqual(slices.length, entries)
        const flags = [...seen.take(entries)]
        const part = feedOf(document, new Set(slices.filter((_, index) => flags[index])))
        assert.deepStrictEqual(part.feed.header, whole.feed.header)
        assert.deepStrictEqual(part.feed.entries, whole.feed.entries.filter((_, index) => !flags[index]))
        assert.deepStrictEqual(part.slices, slices)
        assert.strictEqual(part.skipped, flags.filter((flag) => flag).length)
      }),
      { numRuns: 60 }
    )
  })

  it("reads one new entry of many, and skips the entry the next time", () => {
    const old = "<item><guid>1</guid></item><item><guid>2</guid></item>"
    const rss = (items: string): Uint8Array => encode(`<rss><channel><title>t</title>${items}</channel></rss>`)
    const first = feedOf(rss(old))
    const second = feedOf(rss(`<item><guid>3</guid></item>${old}`), new Set(first.slices))
    assert.deepStrictEqual(second.feed.entries.map(({ id }) => id), ["3"])
    assert.strictEqual(second.skipped, 2)
    assert.strictEqual(feedOf(rss(`<item><guid>3</guid></item>${old}`), new Set(second.slices)).skipped, 3)
  })

  it.each([
    ["an item in a section", "<item><guid>1</guid><description><![CDATA[<item>x</item>]]></description></item>", 1],
    ["an item in a comment", "<!-- <item> --><item><guid>1</guid></item>", 1],
    [
      "an entry in an entry's content",
      "<entry><content type=\"application/xml\"><entry><id>x</id></entry></content></entry>",
      1
    ],
    ["a prefix", "<rss:item xmlns:rss=\"http://purl.org/rss/1.0/\"><guid>1</guid></rss:item>", 1]
  ])("tells entries apart without parsing: %s", (_name, items, count) => {
    assert.strictEqual(feedOf(encode(`<rss><channel>${items}</channel></rss>`)).slices?.length, count)
  })

  it.each([
    ["a DTD that declares something", `<!DOCTYPE rss [<!ENTITY a "b">]><rss><channel><item/></channel></rss>`],
    ["a section without end", "<rss><channel><item><title><![CDATA[x</title></item></channel></rss>"],
    ["a missing end tag", "<rss><channel><item><guid>1</guid><item><guid>2</guid></item></channel></rss>"],
    [
      "JSON",
      JSON.stringify({ version: "https://jsonfeed.org/version/1", items: [{ id: "1", content_html: "<item></item>" }] })
    ]
  ])("reads whole what it cannot tell apart: %s", (_name, document) => {
    assert.isUndefined(feedOf(encode(document)).slices)
  })
})
