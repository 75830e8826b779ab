import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { assignIds, type IdPolicy, parsePolicy, type RawEntry } from "#domain/feed/EntryId.ts"

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
      policyChanged: false
    })
  })

  it("keeps generated ids if the publisher adds ids later", () => {
    const { policy } = assignIds([entry({ link: "http://a.example/1" })], undefined)
    const later = assignIds([
      entry({ id: "guid-2", link: "http://a.example/2" }),
      entry({ id: "guid-1", link: "http://a.example/1" })
    ], policy)
    assert.deepStrictEqual(later.entries.map(({ id }) => id), ["http-a-example-2", "http-a-example-1"])
    assert.isFalse(later.policyChanged)
    assert.strictEqual(later.policy, policy)
  })

  it("changes a failing policy, and reports the change", () => {
    const { policy } = assignIds([entry({ id: "item", link: "http://a.example/1", title: "a" })], undefined)
    assert.strictEqual(policy?.rule, "publisher")
    const later = assignIds([
      entry({ id: "item", link: "http://a.example/2", title: "b" }),
      entry({ id: "item", link: "http://a.example/1", title: "a" })
    ], policy)
    assert.strictEqual(later.policy?.rule, "link")
    assert.isTrue(later.policyChanged)
  })

  it("parses a stored policy and rejects other values", () => {
    const { policy } = assignIds([entry({ link: "http://a.example/1" })], undefined)
    assert.deepStrictEqual(parsePolicy(JSON.parse(JSON.stringify(policy))), policy)
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
      assert.isFalse(again.policyChanged)
    }))
  })
})
