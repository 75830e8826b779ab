import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { assignIds, type RawEntry } from "#domain/feed/EntryId.ts"
import { type IdPolicy, parsePolicy } from "#domain/feed/IdPolicy.ts"

const entry = (
  fields: {
    id?: string
    link?: string
    title?: string
    content?: string
    published?: number
    updated?: number
    enclosure?: string
  }
): RawEntry => ({
  ...(fields.id === undefined ? {} : { id: fields.id }),
  ...(fields.title === undefined ? {} : { title: { value: fields.title, type: "text" } }),
  ...(fields.content === undefined ? {} : { content: [{ value: fields.content, type: "html" }] }),
  ...(fields.published === undefined ? {} : { published: fields.published }),
  ...(fields.updated === undefined ? {} : { updated: fields.updated }),
  links: [
    ...(fields.link === undefined ? [] : [{ href: fields.link, rel: "alternate" }]),
    ...(fields.enclosure === undefined ? [] : [{ href: fields.enclosure, rel: "enclosure" }])
  ]
})

const idsOf = (raw: ReadonlyArray<RawEntry>, policy?: IdPolicy) => assignIds(raw, policy).entries.map(({ id }) => id)

describe("EntryId", () => {
  it("keeps the publisher's ids unchanged", () => {
    const odd = ["tag:a.example,2005:1", " padded ", "HTTP://A.example/?x=1&y=2", "ünïcode", "0"]
    const { entries, policy } = assignIds(odd.map((id) => entry({ id, title: id })), undefined)
    assert.deepStrictEqual(entries.map(({ id }) => id), odd)
    assert.isTrue(entries.every((one) => one.generatedId === undefined))
    assert.deepStrictEqual(policy, { version: 1, rule: "publisher", reason: "the publisher gives usable ids" })
  })

  it("makes a slug of the link of an entry without an id", () => {
    const link = "http://www.livescience.com/9973-long-lived-salamanders-offer-clues-aging.html"
    const { entries, policy, identities } = assignIds([
      entry({ link, title: "Salamanders" }),
      entry({ link: "https://a.example/", title: "Home" })
    ], undefined)
    assert.strictEqual(entries[0]?.id, "http-www-livescience-com-9973-long-lived-salamanders-offer-clues-aging-html")
    assert.strictEqual(entries[1]?.id, "https-a-example-")
    assert.strictEqual(entries[0]?.generatedId, true)
    assert.strictEqual(policy?.rule, "link")
    assert.strictEqual(policy?.reason, "no entry carries an id; ids are made from the link")
    assert.deepStrictEqual(identities[0], { rule: "link", reason: "absent", basis: link })
  })

  it("distinguishes links in other scripts", () => {
    const ids = idsOf([entry({ link: "http://a.example/новости" }), entry({ link: "http://a.example/статьи" })])
    assert.strictEqual(new Set(ids).size, 2)
    assert.match(ids[0] ?? "", /^http-a-example-[a-z0-9-]+$/)
  })

  it("cuts a long link and adds a hash", () => {
    const path = "x".repeat(400)
    const ids = idsOf([entry({ link: `http://a.example/${path}1` }), entry({ link: `http://a.example/${path}2` })])
    assert.deepStrictEqual(ids.map((id) => id.length), [200, 200])
    assert.notStrictEqual(ids[0], ids[1])
  })

  it("hashes title and content of an entry without id and link", () => {
    const first = idsOf([entry({ title: "Parker Solar Probe", content: "a" }), entry({ content: "b" })])
    assert.match(first[0] ?? "", /^parker-solar-probe-[0-9a-f]{16}$/)
    assert.match(first[1] ?? "", /^entry-[0-9a-f]{16}$/)
    assert.deepStrictEqual(
      idsOf([entry({ content: "b" }), entry({ title: "Parker Solar Probe", content: "a" })]),
      first.toReversed()
    )
  })

  it("makes the same ids as earlier versions, because a changed id notifies every subscriber", () => {
    const link = `https://a.example/${"long-path/".repeat(20)}?q=1`
    assert.deepStrictEqual(idsOf([entry({ link }), entry({ link: "http://a.example/новости" })]), [
      `https-a-example-${"long-path-".repeat(16)}long-pa-e7b81b74688ef125`,
      "http-a-example-d0-bd-d0-be-d0-b2-d0-be-d1-81-d1-82-d0-b8"
    ])
    assert.deepStrictEqual(
      idsOf([entry({ enclosure: "http://a.example/1.mp3" }), entry({ enclosure: "http://a.example/2" })]),
      [
        "http-a-example-1-mp3",
        "http-a-example-2"
      ]
    )
    assert.deepStrictEqual(
      idsOf([entry({ title: "Ein schöner Tag", content: "Sonne" }), entry({ content: "Regen" })]),
      [
        "ein-sch-c3-b6ner-tag-0ad6670e5ccbeb23",
        "entry-24fac6397851fc66"
      ]
    )
    const namesakes = [{ id: "a", title: "New", published: 2 }, { id: "a", title: "Old", published: 1 }, { id: "b" }]
    assert.deepStrictEqual(idsOf(namesakes.map(entry)), ["a#84bc85695dbae9a3", "a", "b"])
  })

  it("treats each blank id as absent", () => {
    const { entries, identities } = assignIds([
      entry({ id: "real", title: "a" }),
      entry({ id: " \n", link: "http://a.example/1" })
    ], undefined)
    assert.deepStrictEqual(entries.map(({ id }) => id), ["real", "http-a-example-1"])
    assert.deepStrictEqual(identities.map(({ reason }) => reason), ["given", "absent"])
  })

  it("ignores an id that all entries share", () => {
    const { entries, policy, identities } = assignIds(
      [1, 2, 3].map((n) => entry({ id: "item", link: `http://a.example/${n}` })),
      undefined
    )
    assert.deepStrictEqual(entries.map(({ id }) => id), ["http-a-example-1", "http-a-example-2", "http-a-example-3"])
    assert.strictEqual(policy?.reason, "all entries carry the same id; ids are made from the link")
    assert.strictEqual(identities[0]?.reason, "unusable")
  })

  it("ignores a link that all entries share", () => {
    const home = "http://a.example/"
    const raw = ["1", "2"].map((n) => entry({ link: home, title: n, enclosure: `http://a.example/${n}.mp3` }))
    assert.deepStrictEqual(idsOf(raw), ["http-a-example-1-mp3", "http-a-example-2-mp3"])
    assert.strictEqual(
      assignIds(["1", "2"].map((n) => entry({ link: home, title: n })), undefined).policy?.rule,
      "content"
    )
  })

  it("makes repeated ids unique; the oldest entry keeps the id", () => {
    const raw = [
      entry({ id: "x", title: "new", published: 2 }),
      entry({ id: "y", title: "other", published: 3 }),
      entry({ id: "x", title: "old", published: 1 })
    ]
    const { entries, identities } = assignIds(raw, undefined)
    assert.match(entries[0]?.id ?? "", /^x#[0-9a-f]{16}$/)
    assert.deepStrictEqual(entries.slice(1).map(({ id }) => id), ["y", "x"])
    assert.deepStrictEqual(identities.map(({ reason }) => reason), ["repeated", "given", "given"])
    assert.isUndefined(entries[0]?.generatedId)
  })

  it("treats undated entries with the same id as newest first", () => {
    const ids = idsOf([entry({ id: "x", title: "new" }), entry({ id: "y" }), entry({ id: "x", title: "old" })])
    assert.strictEqual(ids[2], "x")
  })

  it("keeps only the latest version of a repeated entry", () => {
    const raw = [
      entry({ id: "x", title: "t", content: "old", updated: 1 }),
      entry({ id: "x", title: "t", content: "new", updated: 2 }),
      entry({ id: "y" })
    ]
    const { entries } = assignIds(raw, undefined)
    assert.deepStrictEqual(entries.map(({ id, content }) => [id, content?.[0]?.value]), [["x", "new"], [
      "y",
      undefined
    ]])
  })

  it("keeps entries with generated ids that only differ in content", () => {
    const raw = [
      entry({ link: "http://a.example/1", title: "Status", content: "a" }),
      entry({ link: "http://a.example/1", title: "Status", content: "b" }),
      entry({ link: "http://a.example/2", title: "Status", content: "c" })
    ]
    const ids = idsOf(raw)
    assert.strictEqual(new Set(ids).size, 3)
    assert.strictEqual(ids[1], "http-a-example-1")
  })

  it("leaves the policy open until the first entries", () => {
    assert.deepStrictEqual(assignIds([], undefined), {
      entries: [],
      identities: [],
      policy: undefined,
      ruleChanged: false
    })
  })

  /** Assigns the ids of documents one after the other, and gives the last result. */
  const after = (...documents: ReadonlyArray<ReadonlyArray<RawEntry>>) => {
    let assigned = assignIds([], undefined)
    for (const raw of documents) assigned = assignIds(raw, assigned.policy)
    return assigned
  }
  const summaryOf = ({ entries, policy, ruleChanged }: ReturnType<typeof assignIds>) => ({
    ids: entries.map(({ id }) => id),
    rule: policy?.rule,
    ruleChanged
  })
  const linked = (n: number) => entry({ link: `http://a.example/${n}` })
  const given = (n: number) => entry({ id: `guid-${n}`, link: `http://a.example/${n}` })

  describe("the rule", () => {
    it("changes after three documents in a row with ids, and names the entries as before until then", () => {
      const documents = [[linked(1)], [given(2), linked(1)], [given(3), given(2)]]
      assert.deepStrictEqual(summaryOf(after(...documents)), {
        ids: ["http-a-example-3", "http-a-example-2"],
        rule: "link",
        ruleChanged: false
      })
      const enough = [...documents, [given(4), given(3)]]
      assert.strictEqual(after(...enough).policy?.rule, "link") // one of two was no majority
      assert.deepStrictEqual(summaryOf(after(...enough, [given(5), given(4)])), {
        ids: ["guid-5", "guid-4"],
        rule: "publisher",
        ruleChanged: true
      })
    })

    it("changes after three documents in a row without ids, and names the odd documents alone until then", () => {
      const known = [given(2), given(1)]
      const odd = [linked(2), linked(1)]
      assert.deepStrictEqual(summaryOf(after(known, odd)), {
        ids: ["http-a-example-2", "http-a-example-1"],
        rule: "publisher",
        ruleChanged: true
      })
      assert.strictEqual(after(known, odd, odd).policy?.rule, "publisher")
      assert.strictEqual(after(known, odd, odd, odd).policy?.rule, "link")
      assert.deepStrictEqual(after(known, odd, odd, known, odd, odd, known).policy, after(known).policy)
    })

    it("is the agreement of documents, so different odd documents change nothing", () => {
      const known = [given(2), given(1)]
      const plain = [entry({ title: "Unavailable" })]
      assert.strictEqual(after(known, [linked(1), linked(2)], plain, [linked(1), linked(2)]).policy?.rule, "publisher")
      assert.strictEqual(after(known, [], plain, [], plain, [], plain).policy?.rule, "content")
    })

    it("does not trust an id that may be constant", () => {
      const one = (title: string) => [entry({ id: "item", link: `http://a.example/${title}`, title })]
      const shared = [...one("a"), ...one("b")]
      assert.strictEqual(after([linked(1)], one("a"), one("b"), one("c"), one("d")).policy?.rule, "link")
      assert.strictEqual(after(shared, one("a"), one("b"), one("c"), one("d")).policy?.challenger, undefined)
      assert.strictEqual(after([linked(1)], [given(1)], [given(2)], [given(3)]).policy?.rule, "publisher")
    })

    it("stays for a part of a document", () => {
      const { policy } = after([given(2), given(1)])
      let assigned = assignIds([linked(3)], policy, false)
      for (let part = 0; part < 5; part++) assigned = assignIds([linked(3 + part)], assigned.policy, false)
      assert.strictEqual(assigned.policy, policy)
      assert.deepStrictEqual(assigned.entries.map(({ id }) => id), ["http-a-example-7"])
    })

    it("leaves the publisher's id of an entry with a generated id visible, unless the id names nothing", () => {
      const publisherIds = ({ identities }: ReturnType<typeof assignIds>) =>
        identities.map(({ publisherId }) => publisherId)
      assert.deepStrictEqual(publisherIds(after([linked(1)], [given(2), linked(1)])), ["guid-2", undefined])
      const shared = ["a", "b"].map((title) => entry({ id: "item", link: `http://a.example/${title}`, title }))
      assert.deepStrictEqual(publisherIds(after(shared)), [undefined, undefined])
      assert.deepStrictEqual(publisherIds(after(shared, shared.slice(0, 1))), [undefined])
      assert.deepStrictEqual(publisherIds(after([linked(1)], shared)), [undefined, undefined])
    })
  })

  describe("one entry at a time with a constant link", () => {
    const deal = (title: string | undefined, content: string | undefined) => [
      entry({
        link: "http://shop.example/",
        ...(title === undefined ? {} : { title }),
        ...(content === undefined ? {} : { content })
      })
    ]
    const idsAfter = (...documents: ReadonlyArray<ReadonlyArray<RawEntry>>) =>
      documents.map((_, last) => after(...documents.slice(0, last + 1)).entries[0]?.id)

    it("has ids of link, title and text once title and text have changed", () => {
      const ids = idsAfter(deal("A", "a"), deal("B", "b"), deal("C", "c"), deal("B", "b"))
      assert.strictEqual(ids[0], "http-shop-example-")
      assert.isTrue(ids.slice(1).every((id) => /^http-shop-example--[0-9a-f]{16}$/.test(id ?? "")))
      assert.strictEqual(new Set(ids).size, 3)
      assert.strictEqual(ids[3], ids[1])
      assert.deepStrictEqual(after(deal("A", "a"), deal("B", "b")).identities.map(({ reason }) => reason), ["shared"])
    })

    it("keeps its id over an edit of title or text", () => {
      assert.strictEqual(new Set(idsAfter(deal("A", "a"), deal("A", "b"), deal("A", "c"))).size, 1)
      assert.strictEqual(new Set(idsAfter(deal("A", "a"), deal("B", "a"), deal("C", "a"))).size, 1)
      assert.strictEqual(new Set(idsAfter(deal("A", "a"), deal(" A ", "b"))).size, 1)
    })

    it("may have a title or a text alone", () => {
      assert.strictEqual(new Set(idsAfter(deal("A", undefined), deal("B", undefined))).size, 2)
      assert.strictEqual(new Set(idsAfter(deal(undefined, "a"), deal(undefined, "b"))).size, 2)
      assert.strictEqual(new Set(idsAfter(deal(undefined, undefined), deal(undefined, undefined))).size, 1)
    })

    it("is another entry under another link, and no rule for other links", () => {
      assert.deepStrictEqual(
        idsAfter(deal("A", "a"), [entry({ link: "http://shop.example/b", title: "B", content: "b" })]),
        [
          "http-shop-example-",
          "http-shop-example-b"
        ]
      )
      const mixed = [...deal("C", "c"), entry({ link: "http://shop.example/x", title: "X" })]
      const ids = after(deal("A", "a"), deal("B", "b"), mixed).entries.map(({ id }) => id)
      assert.match(ids[0] ?? "", /^http-shop-example--[0-9a-f]{16}$/)
      assert.strictEqual(ids[1], "http-shop-example-x")
    })

    it("is not concluded from a part of a feed, unless its link was the only one", () => {
      const { policy } = after([linked(1), linked(2)])
      const pushed = [deal("A", "a"), deal("B", "b")]
      let parts = policy
      for (const part of pushed) parts = assignIds(part, parts, false).policy
      assert.strictEqual(parts, policy)
      assert.match(
        assignIds(deal("B", "b"), after(deal("A", "a")).policy, false).entries[0]?.id ?? "",
        /^http-shop-example--[0-9a-f]{16}$/
      )
    })
  })

  it("parses a stored policy and rejects other values", () => {
    const { policy } = assignIds([entry({ link: "http://a.example/1" })], undefined)
    assert.deepStrictEqual(parsePolicy(JSON.parse(JSON.stringify(policy))), policy)
    const pending = after([given(1), given(2)], [linked(1)], [linked(3)]).policy
    assert.isDefined(pending?.challenger)
    assert.deepStrictEqual(parsePolicy(JSON.parse(JSON.stringify(pending))), pending)
    assert.isTrue(
      [undefined, null, "link", {}, { ...policy, version: 2 }, { ...policy, rule: "x" }].every((other) =>
        parsePolicy(other) === undefined
      )
    )
  })

  const raws = fc.array(
    fc.record({
      id: fc.constantFrom("", "a", "b", "c"),
      link: fc.constantFrom("http://a.example/1", "http://a.example/2", "http://b.example/ü"),
      title: fc.constantFrom("one", "two", "three"),
      content: fc.constantFrom("x", "y")
    }, { requiredKeys: [] }).map(entry),
    { maxLength: 12 }
  )

  it("gives every entry a unique id for any missing or repeated fields", () => {
    fc.assert(fc.property(raws, (raw) => {
      const { entries, identities } = assignIds(raw, undefined)
      const ids = entries.map(({ id }) => id)
      assert.strictEqual(new Set(ids).size, ids.length)
      assert.isTrue(ids.every((id) => id !== ""))
      assert.strictEqual(identities.length, entries.length)
    }))
  })

  it("gives the same ids with its own policy as without a policy", () => {
    fc.assert(fc.property(raws, (raw) => {
      const { entries, policy } = assignIds(raw, undefined)
      const again = assignIds(raw, policy)
      assert.deepStrictEqual(again.entries, entries)
      assert.isFalse(again.ruleChanged)
    }))
  })
})
