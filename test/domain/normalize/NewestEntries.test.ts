import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { chooseNewest } from "#domain/normalize/NewestEntries.ts"
import { readFeed } from "#domain/normalize/ReadFeed.ts"

const keptOf = (dates: ReadonlyArray<number | undefined>, max: number) =>
  chooseNewest(dates, max)?.isKept.flatMap((isKept, index) => isKept ? [index] : [])

describe("NewestEntries", () => {
  it("keeps the newest dates, entries without a date, and both ends among equals", () => {
    assert.isUndefined(chooseNewest([1, 2, 3], 3))
    assert.deepStrictEqual(keptOf([1, 5, 2, 4, 3], 3), [1, 3, 4])
    assert.deepStrictEqual(keptOf([5, undefined, 4, 3, undefined], 3), [0, 1, 4])
    assert.deepStrictEqual(keptOf(Array.from({ length: 7 }), 3), [0, 1, 6])
    assert.deepStrictEqual(keptOf([9, 1, 1, 1, 1, 1, 9], 4), [0, 1, 5, 6])
    assert.deepStrictEqual(chooseNewest([1, 5, 2, 4, 3], 3)?.leftOut, { count: 2, notAfter: 3 })
    assert.deepStrictEqual(chooseNewest(Array.from({ length: 7 }), 3)?.leftOut, { count: 4 })
  })

  it("keeps as many as allowed, and none older than one left out", () => {
    const dates = fc.array(fc.option(fc.nat({ max: 9 }), { nil: undefined }), { minLength: 2, maxLength: 40 })
    fc.assert(fc.property(dates, fc.integer({ min: 1, max: 39 }), (dates, max) => {
      const found = chooseNewest(dates, max)
      if (dates.length <= max) return assert.isUndefined(found)
      const times = dates.map((date) => date ?? Infinity)
      const kept = times.filter((_, index) => found?.isKept[index])
      const left = times.filter((_, index) => found?.isKept[index] === false)
      assert.deepStrictEqual([kept.length, left.length], [max, found?.leftOut.count])
      assert.isTrue(Math.min(...kept) >= Math.max(...left))
      assert.isTrue(left.every((time) => time <= (found?.leftOut.notAfter ?? Infinity)))
    }))
  })

  const day = (n: number) => new Date(Date.UTC(2020, 0, 1 + n)).toISOString()
  const documents: ReadonlyArray<readonly [string, (n: ReadonlyArray<number>) => string]> = [
    [
      "RSS",
      (all) =>
        `<rss><channel>${
          all.map((n) => `<item><guid>${n}</guid><pubDate>${day(n)}</pubDate></item>`).join("")
        }</channel></rss>`
    ],
    [
      "RSS that breaks off",
      (all) =>
        `<rss><channel>${
          all.map((n) => `<item><guid>${n}</guid><pubDate>${day(n)}</pubDate></item>`).join("")
        }<item><guid>x`
    ],
    [
      "a date in a section",
      (all) =>
        `<rss><channel>${
          all.map((n) => `<item><guid>${n}</guid><pubDate> <![CDATA[${day(n)}]]></pubDate></item>`).join("")
        }</channel></rss>`
    ],
    [
      "RDF",
      (all) =>
        `<rdf:RDF xmlns="http://purl.org/rss/1.0/" xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel/>${
          all.map((n) => `<item rdf:about="${n}"><dc:date>${day(n)}</dc:date></item>`).join("")
        }</rdf:RDF>`
    ],
    [
      "Atom with both dates",
      (all) =>
        `<feed xmlns="http://www.w3.org/2005/Atom">${
          all.map((n) => `<entry><id>${n}</id><updated>${day(99)}</updated><published>${day(n)}</published></entry>`)
            .join("")
        }</feed>`
    ],
    [
      "Atom with updates",
      (all) =>
        `<feed xmlns="http://www.w3.org/2005/Atom">${
          all.map((n) => `<entry><id>${n}</id><updated>${day(n)}</updated></entry>`).join("")
        }</feed>`
    ],
    [
      "JSON Feed",
      (all) =>
        JSON.stringify({
          version: "https://jsonfeed.org/version/1.1",
          title: "t",
          items: all.map((n) => ({ id: `${n}`, date_published: day(n) }))
        })
    ]
  ]

  it.each(documents)("are read of any dialect, in any order: %s", (_, write) => {
    const order = [3, 0, 7, 5, 1, 6, 2, 4]
    const bytes = new TextEncoder().encode(write(order))
    const read = (seenSlices?: ReadonlySet<bigint>) => {
      const result = readFeed(bytes, { maxEntries: 4, ...(seenSlices === undefined ? {} : { seenSlices }) })
      return result._tag === "Feed" ? result : assert.fail(result.reason)
    }
    const whole = read()
    assert.deepStrictEqual(whole.feed.entries.map(({ id }) => id), ["7", "5", "6", "4"])
    assert.deepStrictEqual(whole.leftOut, { count: 4, notAfter: Date.parse(day(4)) })
    if (whole.slices === undefined) return
    assert.strictEqual(whole.slices.length, 4)
    const part = read(new Set(whole.slices.slice(0, 3)))
    assert.deepStrictEqual([part.feed.entries.map(({ id }) => id), part.skipped], [["4"], 3])
    assert.deepStrictEqual([part.slices, part.leftOut], [whole.slices, whole.leftOut])
  })

  it("finds new entries behind more elements than the parser reads", () => {
    const fat = (id: string, n: number) =>
      `<item><guid>${id}</guid><pubDate>${day(n)}</pubDate>${"<x/>".repeat(50)}</item>`
    const items = Array.from({ length: 8_000 }, (_, n) => fat(`${n}`, n))
    const result = readFeed(new TextEncoder().encode(`<rss><channel>${items.join("")}</channel></rss>`))
    if (result._tag === "NotFeed") return assert.fail(result.reason)
    assert.deepStrictEqual(result.feed.entries.at(-1)?.id, "7999")
    assert.strictEqual(result.leftOut?.count, 3_000)
  })
})
