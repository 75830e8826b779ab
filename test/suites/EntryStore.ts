import { assert, type Vitest } from "@effect/vitest"
import { Effect, Option } from "effect"
import fc from "fast-check"
import type { Entry } from "#domain/feed/Entry.ts"
import { EntryStore, type PageQuery } from "#domain/ports/EntryStore.ts"
import { at, entry, found, newSubscription, record, type Stores, unchanged } from "#test/support/StoreFixture.ts"

/** What every `EntryStore` keeps of its promises. */
export const entryStoreSuite = (it: Vitest.MethodsNonLive<Stores>): void => {
  it.describe("EntryStore", () => {
    order(it)
    paging(it)
    documents(it)
  })
}

const page = (query: PageQuery) =>
  Effect.flatMap(
    EntryStore.use((store) => store.page(query)),
    (answer) => answer._tag === "Page" ? Effect.succeed(answer.entries) : Effect.die(answer)
  )

const ids = (query: PageQuery) => Effect.map(page(query), (entries) => entries.map((stored) => stored.entry.id))

const order = (it: Vitest.MethodsNonLive<Stores>) => {
  it.effect("puts the newest first: by date of publication, else by when it was first seen; of equals the latest", () =>
    Effect.gen(function*() {
      const { resource } = yield* newSubscription()
      yield* at(2_000)(record(found(resource, [
        entry("dated-late", { published: 3_000 }),
        entry("undated-1"),
        entry("dated-as-undated", { published: 2_000 }),
        entry("undated-2"),
        entry("dated-early", { published: 1_000 })
      ])))
      yield* at(2_500)(record(found(resource, [entry("later"), entry("dated-early-too", { published: 1_000 })])))
      assert.deepStrictEqual(yield* ids({ resourceIds: [resource.id], count: 50 }), [
        "dated-late",
        "later",
        "undated-2",
        "dated-as-undated",
        "undated-1",
        "dated-early-too",
        "dated-early"
      ])
    }))

  it.effect("gives readers at the same time their own pages, a large one too", () =>
    Effect.gen(function*() {
      const { resource: small } = yield* newSubscription()
      const { resource: large } = yield* newSubscription()
      const text = "x".repeat(200_000)
      yield* at(1)(record(found(small, [entry("a"), entry("b"), entry("c")])))
      yield* at(1)(
        record(found(large, ["d", "e"].map((id) => entry(id, { content: [{ value: text, type: "text" }] }))))
      )
      const pages = yield* Effect.all([
        ids({ resourceIds: [small.id], count: 2 }),
        ids({ resourceIds: [large.id], count: 1 }),
        ids({ resourceIds: [small.id], count: 2 }),
        ids({ resourceIds: [small.id, small.id], count: 3 }),
        ids({ resourceIds: [large.id], count: 2 }),
        ids({ resourceIds: [small.id + 1_000_000], count: 2 })
      ], { concurrency: "unbounded" })
      assert.deepStrictEqual(pages, [["c", "b"], ["e"], ["c", "b"], ["c", "b", "a"], ["e", "d"], []])
    }))

  it.effect("gives entries as they were recorded, with their resource and when they were first seen", () =>
    Effect.gen(function*() {
      const { resource } = yield* newSubscription()
      const rich = entry("rich", {
        published: 5,
        updated: -1,
        content: [{ value: "<p>\u{1f985}\u0000</p>", type: "html" }],
        categories: [{ term: "a" }],
        points: [{ latitude: -0.5, longitude: 180 }],
        extensions: { dc: { creator: ["x", "y"], "": "z" } }
      })
      yield* at(7)(record(found(resource, [rich])))
      assert.deepStrictEqual(yield* page({ resourceIds: [resource.id], count: 1 }), [
        { resourceId: resource.id, entry: rich, firstSeen: 7 }
      ])
    }))

  it.effect("finds entries by their ids, in the order of a page, and no others", () =>
    Effect.gen(function*() {
      const { resource } = yield* newSubscription()
      const { resource: other } = yield* newSubscription()
      yield* at(1)(
        record(found(resource, [entry("old", { published: 1 }), entry("a\u0000"), entry("new", { published: 9 })]))
      )
      yield* at(2)(record(found(other, [entry("new")])))
      const find = (resourceIds: ReadonlyArray<number>, ...wanted: ReadonlyArray<string>) =>
        EntryStore.use((store) =>
          Effect.map(store.findById(resourceIds, wanted), (entries) => entries.map(({ entry }) => entry.id))
        )
      assert.deepStrictEqual(yield* find([resource.id], "old", "missing", "new", "old"), ["new", "old"])
      assert.deepStrictEqual(yield* find([resource.id], "a\u0000"), ["a\u0000"])
      assert.deepStrictEqual(yield* find([resource.id], "a"), [])
      assert.deepStrictEqual(yield* find([resource.id]), [])
      assert.deepStrictEqual(yield* find([], "new"), [])
      const [stored] = yield* EntryStore.use((store) => store.findById([other.id], ["new"]))
      assert.deepStrictEqual(stored, { resourceId: other.id, entry: entry("new"), firstSeen: 2 })
    }))

  it.effect("moves an entry that was given another date", () =>
    Effect.gen(function*() {
      const { resource } = yield* newSubscription()
      yield* record(found(resource, [entry("a", { published: 1_000 }), entry("b", { published: 2_000 })]))
      yield* record({ ...unchanged(resource), updated: [entry("a", { published: 3_000 })] })
      assert.deepStrictEqual(yield* ids({ resourceIds: [resource.id], count: 50 }), ["a", "b"])
    }))

  it.effect("has nothing of a resource without entries, or of none", () =>
    Effect.gen(function*() {
      const { resource } = yield* newSubscription()
      assert.deepStrictEqual(yield* page({ resourceIds: [resource.id], count: 50 }), [])
      assert.deepStrictEqual(yield* page({ resourceIds: [], count: 50 }), [])
    }))

  it.effect("merges several resources, one that is named twice once", () =>
    Effect.gen(function*() {
      const [one, two, other] = [yield* newSubscription(), yield* newSubscription(), yield* newSubscription()]
      yield* record(found(one.resource, [entry("a1", { published: 1 }), entry("a3", { published: 3 })]))
      yield* record(found(two.resource, [entry("b2", { published: 2 }), entry("b4", { published: 4 })]))
      yield* record(found(other.resource, [entry("c", { published: 5 })]))
      const resourceIds = [one.resource.id, two.resource.id, one.resource.id]
      assert.deepStrictEqual(yield* ids({ resourceIds, count: 50 }), ["b4", "a3", "b2", "a1"])
      assert.deepStrictEqual(yield* ids({ resourceIds, count: 2, before: "b4" }), ["a3", "b2"])
    }))
}

/** Newest first, as the promise says it. */
const modelOf = (entries: ReadonlyArray<Entry>, firstSeen: number): ReadonlyArray<string> =>
  entries.map(({ id, published }, arrival) => ({ id, place: published ?? firstSeen, arrival }))
    .toSorted((a, b) => b.place - a.place || b.arrival - a.arrival).map(({ id }) => id)

const paging = (it: Vitest.MethodsNonLive<Stores>) => {
  // Few dates, so that most entries have equals.
  const dates = fc.array(fc.option(fc.integer({ min: 0, max: 4 }), { nil: undefined }), { minLength: 1, maxLength: 30 })

  it.effect("leaves no gap and repeats nothing, back and forth, whatever the dates", () =>
    Effect.forEach(
      fc.sample(fc.tuple(dates, fc.integer({ min: 1, max: 7 }), fc.boolean()), { numRuns: 25, seed: 7 }),
      Effect.fnUntraced(function*([published, count, split]) {
        const { account, resource } = yield* newSubscription()
        const entries = published.map((date, i) => entry(`e${i}`, date === undefined ? {} : { published: date }))
        const half = split ? Math.floor(entries.length / 2) : 0
        yield* at(2)(record(found(resource, entries.slice(0, half))))
        yield* at(2)(record(found(resource, entries.slice(half))))
        assert.isDefined(account)
        const wanted = modelOf(entries, 2)
        const query = { resourceIds: [resource.id], count }
        assert.deepStrictEqual(yield* walk(query, "before"), wanted)
        assert.deepStrictEqual(yield* walk(query, "after"), wanted.slice(0, -1))
      }),
      { discard: true }
    ), 60_000)

  it.effect("ends a page by its bytes, so that the next page goes on behind it in either direction", () =>
    Effect.gen(function*() {
      const { resource } = yield* newSubscription()
      const long = "x".repeat(7 * 1024 * 1024)
      for (let i = 1; i <= 5; i++) {
        yield* record({
          ...unchanged(resource),
          entries: [entry(`e${i}`, { published: i, title: { type: "text", value: long } })]
        })
      }
      const store = yield* EntryStore
      const read = Effect.fnUntraced(function*(query: Omit<PageQuery, "resourceIds" | "count">) {
        const page = yield* store.page({ resourceIds: [resource.id], count: 50, ...query })
        return page._tag === "Page" ? page.entries.map(({ entry }) => entry.id) : []
      })
      assert.deepStrictEqual(yield* read({}), ["e5", "e4"])
      assert.deepStrictEqual(yield* read({ before: "e4" }), ["e3", "e2"])
      assert.deepStrictEqual(yield* read({ before: "e2" }), ["e1"])
      assert.deepStrictEqual(yield* read({ after: "e1" }), ["e3", "e2"])
      assert.deepStrictEqual(yield* read({ after: "e1", order: "stored" }), ["e3", "e2"])
      const found = yield* store.findById([resource.id], ["e1", "e2", "e3"])
      assert.deepStrictEqual(found.map(({ entry }) => entry.id), ["e3", "e2"])
    }))

  it.effect("gives what lies between two entries, from the newer end", () =>
    Effect.gen(function*() {
      const { resource } = yield* newSubscription()
      yield* record(found(resource, Array.from({ length: 8 }, (_, i) => entry(`e${i}`, { published: i }))))
      const between = (count: number, before: string, after: string) =>
        ids({ resourceIds: [resource.id], count, before, after })
      assert.deepStrictEqual(yield* between(50, "e6", "e2"), ["e5", "e4", "e3"])
      assert.deepStrictEqual(yield* between(2, "e6", "e2"), ["e5", "e4"])
      assert.deepStrictEqual(yield* between(50, "e2", "e6"), [])
      assert.deepStrictEqual(yield* between(50, "e2", "e2"), [])
    }))

  it.effect("in the order of storing, has the latest first, whatever the dates", () =>
    Effect.gen(function*() {
      const [one, two] = [yield* newSubscription(), yield* newSubscription()]
      yield* record(found(one.resource, [entry("a", { published: 10 }), entry("future", { published: 9_999 })]))
      yield* record(found(two.resource, [entry("b", { published: 5 })]))
      yield* record(found(one.resource, [entry("old", { published: 1 }), entry("undated")]))
      const stored = (ids_: ReadonlyArray<number>, count: number, bounds: Pick<PageQuery, "before" | "after"> = {}) =>
        ids({ resourceIds: ids_, count, order: "stored", ...bounds })
      const mine = [one.resource.id]
      assert.deepStrictEqual(yield* stored(mine, 50), ["undated", "old", "future", "a"])
      assert.deepStrictEqual(yield* stored(mine, 50, { after: "future" }), ["undated", "old"])
      assert.deepStrictEqual(yield* stored(mine, 1, { after: "future" }), ["old"])
      assert.deepStrictEqual(yield* stored(mine, 50, { after: "undated" }), [])
      assert.deepStrictEqual(yield* stored(mine, 50, { before: "old" }), ["future", "a"])
      assert.deepStrictEqual(yield* stored(mine, 50, { before: "undated", after: "a" }), ["old", "future"])
      const both = [two.resource.id, one.resource.id]
      assert.deepStrictEqual(yield* stored(both, 50), ["undated", "old", "b", "future", "a"])
      assert.deepStrictEqual(yield* stored(both, 2, { after: "future" }), ["old", "b"])
    }))

  it.effect(
    "in the order of storing, a client that goes on from the first entry of each page reads all",
    () =>
      Effect.forEach(
        fc.sample(
          fc.tuple(
            fc.array(fc.tuple(fc.boolean(), fc.nat(9)), { minLength: 2, maxLength: 20 }),
            fc.integer({ min: 1, max: 4 })
          ),
          {
            numRuns: 15,
            seed: 3
          }
        ),
        Effect.fnUntraced(function*([writes, count]) {
          const both = [yield* newSubscription(), yield* newSubscription()]
          const resourceIds = both.map(({ resource }) => resource.id)
          const read: Array<string> = []
          const wanted: Array<string> = []
          let last: string | undefined
          const poll = Effect.gen(function*() {
            const page = yield* ids({ resourceIds, count, order: "stored", ...(last !== undefined && { after: last }) })
            read.push(...page.toReversed())
            last = page[0] ?? last
            return page.length
          })
          for (const [i, [isFirst, published]] of writes.entries()) {
            yield* record(found(both[isFirst ? 0 : 1]?.resource ?? assert.fail(), [entry(`e${i}`, { published })]))
            wanted.push(`e${i}`)
            if (i % 3 === 0) yield* poll
          }
          while ((yield* poll) > 0);
          assert.deepStrictEqual(read, wanted)
        }),
        { discard: true }
      ),
    60_000
  )

  it.effect("names an entry that these resources do not have", () =>
    Effect.gen(function*() {
      const [one, two] = [yield* newSubscription(), yield* newSubscription()]
      yield* record(found(one.resource, [entry("mine")]))
      yield* record(found(two.resource, [entry("theirs")]))
      const store = yield* EntryStore
      const query = { resourceIds: [one.resource.id], count: 1 }
      assert.deepStrictEqual(yield* store.page({ ...query, before: "theirs" }), {
        _tag: "UnknownEntry",
        parameter: "before",
        id: "theirs"
      })
      assert.deepStrictEqual(yield* store.page({ ...query, before: "mine", after: "\u0000" }), {
        _tag: "UnknownEntry",
        parameter: "after",
        id: "\u0000"
      })
    }))

  it.effect("of an id that two resources have, goes on behind the newer and ahead of the older", () =>
    Effect.gen(function*() {
      const [one, two] = [yield* newSubscription(), yield* newSubscription()]
      yield* record(found(one.resource, [entry("same", { published: 1 }), entry("x", { published: 3 })]))
      yield* record(found(two.resource, [entry("same", { published: 5 }), entry("y", { published: 7 })]))
      const query = { resourceIds: [one.resource.id, two.resource.id], count: 50 }
      assert.deepStrictEqual(yield* ids({ ...query, before: "same" }), ["x", "same"])
      assert.deepStrictEqual(yield* ids({ ...query, after: "same" }), ["y", "same", "x"])
    }))
}

/** All pages in one direction, as one list, newest first; it starts at the newest, or behind the oldest. */
const walk = Effect.fnUntraced(function*(query: PageQuery, direction: "before" | "after") {
  const all: Array<string> = []
  const oldest = (yield* ids({ ...query, count: 50 })).at(-1) ?? assert.fail("no entries")
  let from = direction === "before" ? undefined : oldest
  for (;;) {
    const next = yield* ids({ ...query, ...(from !== undefined && { [direction]: from }) })
    if (next.length === 0) return all
    if (direction === "before") all.push(...next)
    else all.unshift(...next)
    from = direction === "before" ? next.at(-1) : next[0]
  }
})

const documents = (it: Vitest.MethodsNonLive<Stores>) => {
  it.effect("has no document of a feed, nor of a resource that is not stored", () =>
    Effect.gen(function*() {
      const { resource } = yield* newSubscription()
      yield* record(found(resource, [entry("a")]))
      const store = yield* EntryStore
      assert.deepStrictEqual(yield* store.document(resource.id), Option.none())
      assert.deepStrictEqual(yield* store.document(2 ** 40), Option.none())
    }))

  it.effect("keeps an empty document", () =>
    Effect.gen(function*() {
      const { resource } = yield* newSubscription()
      const document = { contentType: "text/plain", body: new Uint8Array() }
      yield* record({ ...unchanged(resource), document })
      assert.deepStrictEqual(yield* EntryStore.use((store) => store.document(resource.id)), Option.some(document))
    }))
}
