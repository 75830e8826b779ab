import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import {
  type ComparisonOptions,
  type FeedMemory,
  findNewEntries,
  needsWholeDocument,
  type NewEntries
} from "#domain/feed/NewEntries.ts"
import type { RawEntry } from "#domain/feed/EntryId.ts"

const NOW = 1_700_000_000_000
const MINUTE = 60_000
const blank: FeedMemory = { seen: new Uint8Array(), idPolicy: undefined, bozoRank: 0 }

const entry = (
  id: string,
  fields: { title?: string; link?: string; published?: number; updated?: number } = {}
): RawEntry => ({
  id,
  title: { value: fields.title ?? `title of ${id}`, type: "text" },
  links: [{ href: fields.link ?? `http://site.example/${encodeURIComponent(id)}`, rel: "alternate" }],
  ...(fields.published === undefined ? {} : { published: fields.published }),
  ...(fields.updated === undefined ? {} : { updated: fields.updated })
})

/** Reads documents one after the other, a minute apart, and gives the last decision. */
const after = (documents: ReadonlyArray<ReadonlyArray<RawEntry>>, options?: ComparisonOptions): NewEntries => {
  let decision: NewEntries | undefined
  documents.forEach((entries, index) => {
    decision = findNewEntries(decision?.memory ?? blank, { entries, skipped: 0 }, NOW + index * MINUTE, options)
  })
  if (decision === undefined) throw new Error("no documents")
  return decision
}

const ids = (entries: ReadonlyArray<{ readonly id: string }>) => entries.map(({ id }) => id)
const plain = (...names: ReadonlyArray<string>) => names.map((name) => entry(name))

describe("NewEntries", () => {
  it("stores a first document without a notification", () => {
    const { notified, fresh, outcome } = after([plain("c", "b", "a")])
    assert.deepStrictEqual(notified, [])
    assert.deepStrictEqual(ids(fresh), ["a", "b", "c"])
    assert.strictEqual(outcome, "parsed 3/3 entries")
  })

  it("notifies the first entries of a feed that was empty before", () => {
    assert.deepStrictEqual(ids(after([[], plain("a")]).notified), ["a"])
  })

  it("notifies an old entry once, even if the hub pushes the entry again much later", () => {
    const partial = { partial: true }
    const pushed = [entry("old", { published: NOW - 400 * 24 * 60 * MINUTE })]
    const first = findNewEntries(after([plain("b", "a")]).memory, { entries: pushed, skipped: 0 }, NOW, partial)
    assert.deepStrictEqual(ids(first.notified), ["old"])
    let memory = first.memory
    let now = NOW
    for (let i = 0; i < 2_000; i++) {
      now += 60 * MINUTE
      const fresh = entry(`e${i}`, { published: now })
      // by turns the hub tells of what is new, and the feed is fetched
      memory =
        findNewEntries(memory, { entries: i % 2 === 0 ? [fresh] : [fresh, entry(`e${i - 1}`)], skipped: 0 }, now, {
          partial: i % 2 === 0
        }).memory
    }
    const again = findNewEntries(memory, { entries: [...pushed, ...plain("a")], skipped: 0 }, now, partial)
    assert.deepStrictEqual(ids(again.notified), ["a"]) // what the feed showed is forgotten after 200 others
  })

  it("notifies new ids, oldest first", () => {
    const { notified, fresh, outcome } = after([plain("b", "a"), plain("d", "c", "b", "a")])
    assert.deepStrictEqual(ids(notified), ["c", "d"])
    assert.deepStrictEqual(notified, fresh)
    assert.strictEqual(outcome, "parsed 2/4 entries")
  })

  it("sorts by date if all new entries have a date", () => {
    const { notified } = after([[], [
      entry("a", { published: 2 }),
      entry("b", { published: 1 }),
      entry("c", { published: 3 })
    ]])
    assert.deepStrictEqual(ids(notified), ["b", "a", "c"])
  })

  it("does not notify an entry again that returns", () => {
    assert.deepStrictEqual(after([plain("b", "a"), plain("c"), plain("c", "b", "a")]).notified, [])
  })

  it("notifies the newest 500 entries of a flood and stores all", () => {
    const flood = Array.from({ length: 700 }, (_, index) => entry(`${index}`, { published: NOW - index }))
    const { notified, fresh } = after([[], flood])
    assert.strictEqual(fresh.length, 700)
    assert.strictEqual(notified.length, 500)
    assert.deepStrictEqual([notified[0]?.id, notified[499]?.id], ["499", "0"])
  })

  it("ignores title, link and content of a known id", () => {
    const { notified, updated } = after([plain("a"), [entry("a", { title: "other", link: "http://else.example/" })]])
    assert.deepStrictEqual([notified, updated], [[], []])
  })

  describe("updated entries", () => {
    const edited = (updated: number) => [entry("b"), entry("a", { updated, title: `of ${updated}` })]

    it("are notified once if the update is at most three minutes old", () => {
      const { notified, updated, fresh, memory } = after([plain("b", "a"), edited(NOW - 2 * MINUTE)])
      assert.deepStrictEqual([ids(notified), ids(updated), ids(fresh)], [["a"], ["a"], []])
      assert.deepStrictEqual(
        findNewEntries(memory, { entries: edited(NOW - 2 * MINUTE), skipped: 0 }, NOW, {}).notified,
        []
      )
      assert.deepStrictEqual(ids(findNewEntries(memory, { entries: edited(NOW), skipped: 0 }, NOW, {}).notified), ["a"])
    })

    it("are not notified later", () => {
      assert.deepStrictEqual(after([plain("b", "a"), edited(NOW - 3 * MINUTE)]).notified, [])
    })

    it("are notified if the publisher's clock is a little ahead", () => {
      assert.deepStrictEqual(ids(after([plain("b", "a"), edited(NOW + 3 * MINUTE)]).notified), ["a"])
      assert.deepStrictEqual(after([plain("b", "a"), edited(NOW + 5 * MINUTE)]).notified, [])
    })

    it("do not include a new entry at the next fetch", () => {
      assert.deepStrictEqual(after([edited(NOW), edited(NOW)]).notified, [])
      assert.deepStrictEqual(after([plain("b"), edited(NOW + MINUTE), edited(NOW + MINUTE)]).notified, [])
    })

    it("do not count if the publisher stamps the time of the request on entries that stay as they are", () => {
      for (const count of [1, 3, 4, 5, 20]) {
        const names = Array.from({ length: count }, (_, n) => `e${n}`)
        const stamped = (at: number) => names.map((id) => entry(id, { updated: at }))
        const documents = Array.from({ length: 10 }, (_, minute) => stamped(NOW + minute * MINUTE))
        for (const upTo of documents.keys()) {
          const { notified, updated } = after(documents.slice(0, upTo + 1))
          assert.deepStrictEqual([notified, updated], [[], []])
        }
        const next = findNewEntries(after(documents).memory, {
          entries: [entry("new"), entry("e0", { title: "edited", updated: NOW + 10 * MINUTE })],
          skipped: 0
        }, NOW + 10 * MINUTE)
        assert.deepStrictEqual(ids(next.notified), ["e0", "new"])
      }
    })

    it("do not count if the publisher begins to stamp entries, and count once such an entry has changed", () => {
      const stamped = (at: number, title = "a") => [entry("b", { updated: at }), entry("a", { title, updated: at })]
      const undated = [entry("b"), entry("a", { title: "a" })]
      assert.deepStrictEqual(after([undated, stamped(NOW + MINUTE)]).notified, [])
      assert.deepStrictEqual(after([undated, stamped(NOW), undated, stamped(NOW + 3 * MINUTE)]).notified, [])
      assert.deepStrictEqual(ids(after([undated, stamped(NOW + MINUTE, "edited")]).updated), ["a"])
      assert.deepStrictEqual(after([undated, plain("c"), plain("d"), stamped(NOW + 3 * MINUTE)]).updated, [])
    })

    it("do not evict seen ids, however often they are stamped", () => {
      const stamped = (at: number) => ["d", "c", "b"].map((id) => entry(id, { updated: at }))
      const documents = Array.from({ length: 300 }, (_, minute) => stamped(NOW + minute * MINUTE))
      assert.deepStrictEqual(after([plain("b", "a"), ...documents, plain("b", "a")]).notified, [])
    })

    it("count by title, texts, links, enclosures and categories", () => {
      const base: RawEntry = {
        ...entry("a", { updated: NOW }),
        summary: { value: "s", type: "text" },
        content: [{ value: "c", type: "html" }],
        categories: [{ term: "x" }]
      }
      const isUpdate = (change: Partial<RawEntry>) =>
        after([[base, entry("b")], [{ ...base, updated: NOW + MINUTE, ...change }, entry("b")]]).updated.length === 1
      const links = base.links ?? []
      assert.deepStrictEqual(
        [
          {},
          { published: NOW },
          { authors: [{ name: "else" }] },
          { title: { value: "else", type: "text" } },
          { summary: { value: "else", type: "text" } },
          { content: [{ value: "else", type: "html" }] },
          { links: [...links, { href: "http://site.example/1.mp3", rel: "enclosure" }] },
          { categories: [{ term: "y" }] }
        ].map(isUpdate),
        [false, false, false, true, true, true, true, true]
      )
    })

    it("compare with the content that was sent, also after the entry was away", () => {
      const version = (title: string, updated: number) => [entry("b"), entry("a", { title, updated })]
      // An edit with an old date is not sent, so the next stamp sends the edit.
      const silent = [version("1", NOW), version("2", NOW - 60 * MINUTE)]
      assert.deepStrictEqual(after(silent).updated, [])
      assert.deepStrictEqual(ids(after([...silent, version("2", NOW + 2 * MINUTE)]).updated), ["a"])
      assert.deepStrictEqual(after([...silent, version("1", NOW + 2 * MINUTE)]).updated, [])
      const away = [version("1", NOW), plain("c"), plain("d")]
      assert.deepStrictEqual(after([...away, version("1", NOW + 3 * MINUTE)]).updated, [])
      assert.deepStrictEqual(ids(after([...away, version("2", NOW + 3 * MINUTE)]).updated), ["a"])
    })

    it("do not count if each request renders the contents of all entries anew", () => {
      const rendered = (at: number) =>
        ["e", "d", "c", "b", "a"].map((id) => entry(id, { title: `${id}, seen ${at} times`, updated: at }))
      assert.deepStrictEqual(after([rendered(NOW), rendered(NOW + MINUTE), rendered(NOW + 2 * MINUTE)]).notified, [])
    })
  })

  describe("ids that moved", () => {
    const at = (site: string, ...paths: ReadonlyArray<string>) => paths.map((path) => entry(`${site}/${path}`))

    it("to https are known ids", () => {
      const { notified, fresh } = after([at("http://a.example", "2", "1"), at("https://a.example", "3", "2", "1")])
      assert.deepStrictEqual(ids(notified), ["https://a.example/3"])
      assert.deepStrictEqual(ids(fresh), ["https://a.example/3"])
    })

    it("to another host together are known ids", () => {
      const moved = at("https://new.example", "4", "3", "2", "1")
      assert.deepStrictEqual(ids(after([at("http://old.example", "3", "2", "1"), moved]).notified), [
        "https://new.example/4"
      ])
    })

    it("are new if only one id resembles an id of another site", () => {
      const planet = [...at("http://a.example", "?p=1"), ...at("http://b.example", "?p=7")]
      assert.strictEqual(after([at("http://a.example", "?p=7", "?p=1"), planet]).notified.length, 1)
      const far = at("http://b.example", "?p=7", "x", "y", "z")
      assert.strictEqual(after([at("http://a.example", "?p=7", "?p=1"), far]).notified.length, 4)
    })

    it("are new if the document has both ids", () => {
      const both = [...at("https://a.example", "1"), ...at("http://a.example", "1")]
      assert.deepStrictEqual(ids(after([at("http://a.example", "1"), both]).notified), ["https://a.example/1"])
    })

    it("are new if following is off", () => {
      const moved = at("https://a.example", "2", "1")
      assert.strictEqual(after([at("http://a.example", "2", "1"), moved], { followMovedIds: false }).notified.length, 2)
    })

    it("are known if they were generated from links", () => {
      const linked = (site: string, ...paths: ReadonlyArray<string>) =>
        paths.map((path) => entry("", { link: `${site}/${path}` }))
      const { notified } = after([linked("http://a.example", "2", "1"), linked("https://www.a.example", "3", "2", "1")])
      assert.deepStrictEqual(ids(notified), ["https-www-a-example-3"])
    })
  })

  it("does not flood subscribers if the id policy changes", () => {
    const same = (...names: ReadonlyArray<string>) =>
      names.map((name) => entry("item", { title: name, link: `http://a.example/${name}` }))
    const documents = [same("a"), same("b", "a"), same("c", "b", "a"), same("d", "c", "b", "a")]
    const { notified, memory, generatedIds } = after(documents)
    assert.deepStrictEqual(documents.map((_, last) => ids(after(documents.slice(0, last + 1)).notified)), [
      [],
      ["http-a-example-b"],
      ["http-a-example-c"],
      ["http-a-example-d"]
    ])
    assert.deepStrictEqual(ids(notified), ["http-a-example-d"])
    assert.strictEqual(memory.idPolicy?.rule, "link")
    assert.isTrue(generatedIds)
    assert.deepStrictEqual(ids(after([same("a"), same("b", "a")]).notified), ["http-a-example-b"])
  })

  it("does not flood subscribers if a publisher removes the ids", () => {
    const without = ["c", "b", "a"].map((name) => ({
      ...entry("", { title: `title of ${name}`, link: `http://site.example/${name}` })
    }))
    assert.deepStrictEqual(ids(after([plain("b", "a"), without]).notified), ["http-site-example-c"])
  })

  it("notifies a new entry with the id of a known entry, but not the known entry", () => {
    const old = entry("x", { title: "old" })
    const others = plain("y")
    const { notified } = after([[old, ...others], [entry("x", { title: "new" }), old, ...others]])
    assert.deepStrictEqual(notified.map(({ title }) => title?.value), ["new"])
    assert.deepStrictEqual(
      after([[old, ...others], [entry("x", { title: "new" }), old, ...others], [
        entry("x", { title: "new" }),
        ...others
      ]]).notified,
      []
    )
  })

  describe("bozo rank", () => {
    const session = (number: number) =>
      ["a", "b", "c"].map((name) => entry(`${name};${number}`, { title: name, link: `http://a.example/${name}` }))

    it("rises if ids change while title and link stay", () => {
      const once = after([session(1), session(2)])
      assert.strictEqual(once.churned, 3)
      assert.strictEqual(once.notified.length, 3)
      assert.strictEqual(once.memory.bozoRank, 0.2)
      assert.strictEqual(after(Array.from({ length: 30 }, (_, n) => session(n))).memory.bozoRank > 0.95, true)
    })

    it("falls again", () => {
      const documents = [session(1), session(2), ...Array.from({ length: 20 }, () => session(2))]
      assert.isBelow(after(documents).memory.bozoRank, 0.01)
    })

    it("does not rise if all entries look alike", () => {
      const note = (id: string) => entry(id, { title: "Note", link: "http://a.example/" })
      assert.strictEqual(after([[note("2"), note("1")], [note("3"), note("2")]]).churned, 0)
    })
  })

  describe("a partly read document", () => {
    it("gives the same result as a whole document", () => {
      const { memory } = after([plain("c", "b", "a")])
      const whole = findNewEntries(memory, { entries: plain("d", "c", "b"), skipped: 0 }, NOW)
      const part = findNewEntries(memory, { entries: plain("d"), skipped: 2 }, NOW)
      assert.isFalse(needsWholeDocument(memory, { entries: plain("d"), skipped: 2 }))
      assert.deepStrictEqual(part, whole)
    })

    it("needs the whole document at first, and for repeated, moved, churning or edited ids", () => {
      const { memory } = after([plain("http://a.example/b", "http://a.example/a")])
      const needs = (...entries: ReadonlyArray<RawEntry>) => needsWholeDocument(memory, { entries, skipped: 1 })
      assert.isTrue(needsWholeDocument(blank, { entries: plain("a"), skipped: 1 }))
      assert.isFalse(needs(entry("new")))
      assert.isFalse(needs(entry("http://a.example/a", { updated: NOW })))
      assert.isTrue(needs(entry("https://a.example/a", { title: "edited" })))
      assert.isTrue(needs(entry("http://a.example/a", { title: "edited" })))
      assert.isTrue(
        needs(
          entry("new", {
            title: "title of http://a.example/a",
            link: `http://site.example/${encodeURIComponent("http://a.example/a")}`
          })
        )
      )
      assert.isTrue(needs(entry("twice", { title: "1" }), entry("twice", { title: "2" }), entry("new")))
    })
  })

  it("notifies every entry of a sliding window once", () => {
    const steps = fc.array(fc.nat({ max: 12 }), { minLength: 1, maxLength: 20 })
    fc.assert(fc.property(steps, fc.integer({ min: 1, max: 12 }), (arrivals, window) => {
      const names: Array<string> = ["0"]
      let memory = blank
      const told: Array<string> = []
      for (const arrival of [0, ...arrivals.map((count) => Math.min(count, window))]) {
        for (let n = 0; n < arrival; n++) names.push(`${names.length}`)
        const decision = findNewEntries(
          memory,
          { entries: plain(...names.slice(-window).toReversed()), skipped: 0 },
          NOW
        )
        told.push(...ids(decision.notified))
        memory = decision.memory
      }
      assert.deepStrictEqual(told, names.slice(1))
    }))
  })

  it("notifies entries behind the known ones whose date is that of the entries left out", () => {
    const dated = (...names: ReadonlyArray<string>) => names.map((name) => entry(name, { published: NOW }))
    const first = after([dated("a", "b", "y", "z")])
    const read = (entries: ReadonlyArray<RawEntry>) =>
      ids(findNewEntries(first.memory, { entries, skipped: 0 }, NOW + MINUTE, { leftOutUntil: NOW }).notified)
    assert.deepStrictEqual(read(dated("a", "b", "z", "new")), ["new"])
    assert.deepStrictEqual(read(dated("a", "b", "between", "z")), [])
    assert.deepStrictEqual(read([...dated("a", "b", "z"), entry("old", { published: NOW - 1 })]), [])
  })
})
