import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { limitHeader, maxHeaderBytes } from "#domain/feed/HeaderLimit.ts"
import type { FeedHeader } from "#domain/feed/Feed.ts"

const limit = (header: FeedHeader) => limitHeader(header, JSON.stringify(header))
const bytesOf = (header: FeedHeader) => Buffer.byteLength(JSON.stringify(header))

const hub = { rel: "hub", href: "https://hub.example/" }

describe("limitHeader", () => {
  it("leaves a header up to 64 KiB as it is", () => {
    const empty = { links: [hub], title: { type: "text", value: "" } }
    const full = { ...empty, title: { type: "text", value: "a".repeat(maxHeaderBytes - bytesOf(empty)) } }
    assert.strictEqual(bytesOf(full), 65_536)
    assert.strictEqual(limit(full), full)
    const longer = { ...full, title: { type: "text", value: `${full.title.value}a` } }
    assert.isBelow(limit(longer).title?.value.length ?? 0, 16 * 1024)
    // As many characters, and three times the bytes.
    assert.notStrictEqual(limit({ title: { type: "text", value: "€".repeat(30_000) } }).title?.value.length, 30_000)
  })

  it("keeps the links and the beginning of long texts, and leaves out long ids and URLs", () => {
    const long = "long ".repeat(2_000_000)
    const header = limit({
      id: long,
      title: { type: "text", value: long },
      subtitle: { type: "html", value: "short" },
      links: [hub, { rel: "self", href: long }, { rel: "alternate", href: "https://site.example/" }],
      icon: long,
      language: "en"
    })
    assert.deepStrictEqual(Object.keys(header), ["links", "title", "subtitle", "language"])
    assert.deepStrictEqual(header.links, [hub])
    assert.isTrue(header.title?.truncated)
    assert.isTrue(long.startsWith(header.title?.value ?? "-"))
    assert.isAbove(header.title?.value.length ?? 0, 2_000)
    assert.deepStrictEqual([header.subtitle?.value, header.language], ["short", "en"])
  })

  it("never exceeds 64 KiB", () => {
    const text = fc.record({ type: fc.constant("text"), value: fc.string({ unit: "binary", maxLength: 30 }) })
    const repeat = fc.integer({ min: 1, max: 20_000 })
    fc.assert(
      fc.property(text, text, repeat, fc.array(fc.webUrl(), { maxLength: 20 }), (title, rights, times, urls) => {
        const header: FeedHeader = {
          title: { ...title, value: title.value.repeat(times) },
          rights: { ...rights, value: rights.value.repeat(times) },
          links: urls.flatMap((href) => Array.from({ length: Math.ceil(times / 10) }, () => ({ rel: "hub", href }))),
          extensions: { x: [rights.value.repeat(times)] } as never
        }
        assert.isAtMost(bytesOf(limit(header)), maxHeaderBytes)
      }),
      { numRuns: 60 }
    )
  })
})
