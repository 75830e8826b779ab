import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { type FeedMemory, findNewEntries, needsWholeDocument } from "#domain/feed/NewEntries.ts"
import { readFeed } from "#domain/normalize/ReadFeed.ts"

const NOW = 1_700_000_000_000
const MINUTE = 60_000

const item = (name: string, guid = `<guid>${name}</guid>`) =>
  `<item>${guid}<title>News ${name}</title><link>http://a.example/${name}</link><description>about ${name}</description></item>`
const rss = (...items: ReadonlyArray<string>) =>
  `<rss version="2.0"><channel><title>t</title><link>http://a.example/</link>${items.join("")}</channel></rss>`
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => `g-${to - n}`)
const feed = (...names: ReadonlyArray<string>) => rss(...names.map((name) => item(name)))

/** A subscriber of a feed, a minute between its documents. Unreadable documents have no effect, as in a poll. */
const subscribe = () => {
  let memory: FeedMemory = { seen: new Uint8Array(), idPolicy: undefined, bozoRank: 0 }
  let seenSlices: ReadonlySet<bigint> | undefined
  let now = NOW
  return {
    memory: () => memory,
    poll: (document: string) => {
      now += MINUTE
      const bytes = new TextEncoder().encode(document)
      const part = readFeed(bytes, seenSlices === undefined ? {} : { seenSlices })
      if (part._tag === "NotFeed") return []
      const isEnough = part.skipped === 0 ||
        !needsWholeDocument(memory, { entries: part.feed.entries, skipped: part.skipped })
      const read = isEnough ? part : readFeed(bytes)
      if (read._tag === "NotFeed") return assert.fail(read.reason)
      const found = findNewEntries(memory, { entries: read.feed.entries, skipped: read.skipped }, now)
      memory = found.memory
      seenSlices = read.slices === undefined ? undefined : new Set(read.slices)
      return found.notified.map(({ id, title }) => ({ id, title: title?.value ?? "" }))
    }
  }
}

describe("a feed with parts missing for a while", () => {
  const known = range(0, 20)
  const placeholder = rss(
    "<item><title>Temporarily unavailable</title><description>Come back later.</description></item>"
  )

  it.each([
    ["one item without an id", placeholder, 1],
    ["one item with a link", rss(item("unavailable", "")), 1],
    [
      "items with one id for all",
      rss("<item><guid>0</guid><title>One</title></item><item><guid>0</guid><title>Two</title></item>"),
      2
    ],
    [
      "an Atom entry without an id",
      "<feed xmlns=\"http://www.w3.org/2005/Atom\"><title>t</title><entry><title>Sorry</title></entry></feed>",
      1
    ],
    ["a document that breaks off in its first item", feed(...known).slice(0, 120), 0],
    ["an empty feed", rss(), 0],
    ["the feed without its ids", rss(...known.map((name) => item(name, ""))), 0],
    ["half of the ids", rss(...known.map((name, n) => n % 2 === 0 ? item(name) : item(name, ""))), 0],
    ["one id for all known items", rss(...known.map((name) => item(name, "<guid>0</guid>"))), 0]
  ])("keeps the publisher's ids over an odd document: %s", (_, odd, told) => {
    for (const times of [1, 2]) {
      const { poll } = subscribe()
      poll(feed(...known))
      const during = Array.from({ length: times }, () => poll(odd))
      assert.deepStrictEqual(during.map((one) => one.length), [told, 0].slice(0, times))
      assert.deepStrictEqual(poll(feed(...known)), [])
      assert.deepStrictEqual(poll(feed("g-21", ...known)), [{ id: "g-21", title: "News g-21" }])
    }
  })

  it("changes the rule after three odd documents, tells no known entry, and changes back", () => {
    const { memory, poll } = subscribe()
    poll(feed(...known))
    const without = (...names: ReadonlyArray<string>) => rss(...names.map((name) => item(name, "")))
    const rule = () => memory().idPolicy?.rule
    assert.deepStrictEqual(poll(without("g-21", ...known)).map(({ id }) => id), ["http-a-example-g-21"])
    assert.deepStrictEqual(poll(without("g-22", "g-21", ...known)).map(({ id }) => id), ["http-a-example-g-22"])
    assert.strictEqual(rule(), "publisher")
    assert.deepStrictEqual(poll(without("g-23", "g-22", "g-21", ...known)).map(({ id }) => id), ["http-a-example-g-23"])
    assert.strictEqual(rule(), "link")
    assert.deepStrictEqual(poll(feed("g-24", "g-23", "g-22", ...known)).map(({ id }) => id), ["http-a-example-g-24"])
    assert.deepStrictEqual(poll(feed("g-24", "g-23", ...known)), [])
    assert.strictEqual(rule(), "link")
    assert.deepStrictEqual(poll(feed("g-25", "g-24", "g-23", ...known)).map(({ id }) => id), ["g-25"])
    assert.strictEqual(rule(), "publisher")
    assert.deepStrictEqual(poll(feed("g-26", "g-25", "g-24", "g-23", ...known)).map(({ id }) => id), ["g-26"])
  })

  it("tells no entry whose publisher's id is known, under any rule and after an edit", () => {
    const { memory, poll } = subscribe()
    poll(feed(...known))
    for (const minutes of [3, 2, 1]) {
      poll(rss(`<item><title>Back in ${minutes} minutes</title><description>Sorry.</description></item>`))
    }
    assert.strictEqual(memory().idPolicy?.rule, "content")
    const edited = known.map((name) => item(name).replace("News", "Edited news"))
    assert.deepStrictEqual(poll(rss(item("g-21"), ...edited)).map(({ title }) => title), ["News g-21"])
  })

  it("knows the entries of a moved site after an empty document", () => {
    const { poll } = subscribe()
    const at = (host: string) => known.map((name) => item(name, `<guid>https://${host}/${name}</guid>`))
    poll(rss(...at("old.example")))
    poll(rss())
    assert.deepStrictEqual(poll(rss(...at("new.example"))), [])
  })

  it("finds the publisher's ids after a first document that was odd", () => {
    const { memory, poll } = subscribe()
    poll(placeholder)
    assert.strictEqual(poll(feed(...known)).length, 20)
    for (const next of range(20, 24).toReversed()) assert.strictEqual(poll(feed(next, ...known)).length, 1)
    assert.strictEqual(memory().idPolicy?.rule, "publisher")
    assert.deepStrictEqual(poll(feed("g-25", "g-24", ...known)), [{ id: "g-25", title: "News g-25" }])
  })

  it.each([300, 1_300])("tells nothing of %i entries again after 45 empty documents, and 45 short ones", (size) => {
    const { poll } = subscribe()
    const whole = feed(...range(0, size))
    poll(whole)
    for (let round = 0; round < 45; round++) {
      assert.deepStrictEqual(poll(rss(`<category>${round}</category>`)), [])
      assert.deepStrictEqual(poll(feed(...range(size - 10, size))), [])
    }
    assert.deepStrictEqual(poll(whole), [])
  })

  it("tells each publisher's id once", () => {
    const step = fc.record({
      arrivals: fc.nat({ max: 3 }),
      /** Probability of a missing item, and of a missing id. */
      missing: fc.constantFrom(0, 0, 0.2, 0.8, 1),
      withoutId: fc.constantFrom(0, 0, 0, 0.3, 1),
      cut: fc.option(fc.double({ min: 0, max: 1, noNaN: true })),
      odd: fc.option(fc.constantFrom(placeholder, rss()), { freq: 4 }),
      random: fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }))
    })
    const sizes = fc.integer({ min: 2, max: 60 })
    fc.assert(
      fc.property(sizes, fc.array(step, { minLength: 1, maxLength: 25 }), (size, steps) => {
        const { poll } = subscribe()
        const names = range(0, size).toReversed()
        const current = () => names.slice(-size).toReversed()
        const idless = new Set<string>()
        poll(feed(...current()))
        const told: Array<{ readonly id: string; readonly title: string }> = []
        for (const { arrivals, cut, missing, odd, random, withoutId } of steps) {
          for (let n = 0; n < Math.min(arrivals, size); n++) names.push(`g-${names.length + 1}`)
          const next = () => random.next().value ?? 0
          const items = current().filter(() => next() >= missing).map((name) => {
            if (next() >= withoutId) return item(name)
            idless.add(name)
            return item(name, "")
          })
          const document = odd ?? rss(...items)
          told.push(...poll(cut === null ? document : document.slice(0, Math.floor(cut * document.length))))
        }
        const shown = new Set(current())
        for (let round = 0; round < 3; round++) {
          told.push(...poll(rss(`<category>${round}</category>`, ...current().map((name) => item(name)))))
        }
        told.push(...poll(feed("last", ...current())))
        const count = (name: string) => told.filter(({ id }) => id === name).length
        for (const name of [...names.slice(size), "last"]) {
          assert.isAtMost(count(name), 1)
          if (shown.has(name) || name === "last") {
            const times = told.filter(({ title }) => title === `News ${name}`).length
            assert.isTrue(idless.has(name) ? times >= 1 : times === 1, `${name}: ${times}`)
          }
        }
        for (const name of names.slice(0, size)) assert.strictEqual(count(name), 0)
        assert.strictEqual(count("last"), 1)
      }),
      { numRuns: 300 }
    )
  })
})

describe("a feed that is stamped with the time of the request", () => {
  const atom = "xmlns=\"http://www.w3.org/2005/Atom\""
  const forms: ReadonlyArray<
    readonly [name: string, entry: (n: number, at: string) => string, wrap: (entries: string) => string]
  > = [
    [
      "Atom",
      (n, at) =>
        `<entry><id>${n}</id><title>T${n}</title><published>2020-01-01T00:00:00Z</published><updated>${at}</updated></entry>`,
      (entries) => `<feed ${atom}><title>t</title>${entries}</feed>`
    ],
    [
      "Atom without publication dates",
      (n, at) => `<entry><id>${n}</id><title>T${n}</title><content>same</content><updated>${at}</updated></entry>`,
      (entries) => `<feed ${atom}><title>t</title>${entries}</feed>`
    ],
    ["pubDate", (n, at) => `<item><guid>${n}</guid><title>T${n}</title><pubDate>${at}</pubDate></item>`, rss],
    [
      "pubDate and nothing else but a picture",
      (n, at) =>
        `<item><pubDate>${at}</pubDate><media:content xmlns:media="http://search.yahoo.com/mrss/" url="http://a.example/${n}.png"/></item>`,
      rss
    ],
    [
      "atom:updated in RSS",
      (n, at) =>
        `<item><guid>${n}</guid><title>T${n}</title><a:updated xmlns:a="http://www.w3.org/2005/Atom">${at}</a:updated></item>`,
      rss
    ],
    [
      "dcterms:modified",
      (n, at) =>
        `<item><guid>${n}</guid><title>T${n}</title><d:modified xmlns:d="http://purl.org/dc/terms/">${at}</d:modified></item>`,
      rss
    ],
    [
      "JSON Feed",
      (n, at) =>
        JSON.stringify({
          id: `${n}`,
          content_text: "same",
          date_published: "2020-01-01T00:00:00Z",
          date_modified: at
        }) + ",",
      (entries) => `{"version":"https://jsonfeed.org/version/1.1","title":"t","items":[${entries.slice(0, -1)}]}`
    ]
  ]

  it.each(forms)("tells an entry that stays as it is once: %s", (_, entry, wrap) => {
    for (
      const [count, isStamped] of [[1, () => true], [4, () => true], [20, () => true], [
        20,
        (n: number) => n % 2 === 0
      ]] as const
    ) {
      const { poll } = subscribe()
      const document = (minute: number, size: number) =>
        wrap(
          Array.from({ length: size }, (_, n) =>
            entry(n, new Date(NOW + (isStamped(n) ? minute : 0) * MINUTE).toISOString()))
            .join("")
        )
      for (let minute = 1; minute <= 5; minute++) assert.deepStrictEqual(poll(document(minute, count)), [])
      assert.strictEqual(poll(document(6, count + 1)).length, 1)
      assert.deepStrictEqual(poll(document(7, count + 1)), [])
    }
  })
})
