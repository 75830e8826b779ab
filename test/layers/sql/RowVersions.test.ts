import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import { SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import { firstPagesSql } from "#layers/sql/BriefList.ts"
import { sqlWithGenericPlans } from "#layers/sql/GenericPlans.ts"
import { seenSql } from "#layers/sql/ResourceStoreSql.ts"
import { makeVersionMemory, versionOf, versionOfRows } from "#layers/sql/RowVersions.ts"
import { column } from "#layers/sql/Values.ts"
import { engines } from "#test/support/Databases.ts"
import {
  entry,
  found,
  newAccount,
  newSubscription,
  record,
  subscribe,
  unchanged,
  wantedBy
} from "#test/support/StoreFixture.ts"
import { storesSql } from "#test/support/StoresSql.ts"

describe("versionOfRows", () => {
  it("includes the start of the server, because another server may use the numbers of transactions again", () => {
    assert.include(versionOfRows("entries", "seq"), "entries.seq, entries.xmin, pg_postmaster_start_time()")
  })
})

describe("makeVersionMemory", () => {
  const makeReader = (maxLength: number, minLength: number) => {
    const memory = makeVersionMemory<string>(maxLength, minLength)
    /** Reads the texts as their own keys, and returns the misses. */
    return (texts: ReadonlyArray<string>) =>
      texts.filter((text) => {
        const known = memory.get(text)
        if (known === undefined) memory.keep(text, { version: 1n, value: text }, text.length)
        else assert.deepStrictEqual([known.version, known.value], [1n, text])
        return known === undefined
      })
  }

  it("keeps the last value of a key with its version", () => {
    const memory = makeVersionMemory<string>(10, 1)
    memory.keep("a", { version: 1n, value: "old" }, 6)
    memory.keep("a", { version: 2n, value: "new" }, 6)
    memory.keep("b", { version: 1n, value: "b" }, 4)
    assert.deepStrictEqual([memory.get("a")?.version, memory.get("a")?.value, memory.get("b")?.value], [2n, "new", "b"])
    memory.keep("b", { version: 2n, value: "too long" }, 8)
    assert.isUndefined(memory.get("b"))
    memory.keep("c", { version: 1n, value: "c" }, 4)
    assert.strictEqual(memory.get("c")?.value, "c")
  })

  it("keeps as many characters as it may, and begins anew after misses of 16 times as many", () => {
    const read = makeReader(20, 1)
    const [a, b, c, long] = ["a".repeat(10), "b".repeat(10), "c".repeat(10), "d".repeat(21)]
    assert.deepStrictEqual(read([a, b, a, b]), [a, b])
    assert.deepStrictEqual(read([c, a, b, c, long, long]), [c, c, long, long])
    read(Array.from({ length: 28 }, () => c)) // with those above, 320 of 320 characters; those that are too long do not count
    assert.deepStrictEqual(read([a, b]), [])
    assert.deepStrictEqual(read([c, c, a, a, b, c, b]), [c, a, b, b])
  })

  it("counts short values as longer ones", () => {
    assert.deepStrictEqual(makeReader(20, 10)(["a", "b", "c", "a", "b", "c"]), ["a", "b", "c", "c"])
  })
})

const never = /never executed/

for (const engine of engines) {
  describe.skipIf(!engine.available)(`versions of rows, ${engine.name}`, () => {
    layer(Layer.provideMerge(storesSql, engine.layer), { excludeTestServices: true })((it) => {
      const explain = Effect.fnUntraced(function*(statement: string, parameters: ReadonlyArray<unknown>) {
        const sql = yield* sqlWithGenericPlans
        const rows = yield* sql.unsafe<{ "QUERY PLAN": string }>(
          `explain (analyze, timing off) ${statement}`,
          parameters
        )
        return rows.map((row) => row["QUERY PLAN"]).join("\n")
      })

      it.effect("differ after each write of a row, and between rows of one transaction", () =>
        Effect.gen(function*() {
          const sql = yield* SqlClient.SqlClient
          yield* sql`create table versioned (id int primary key, a int)`
          yield* sql`insert into versioned values (1, 1), (2, 1), (3, 1)`
          const readVersion = (...ids: ReadonlyArray<number>) =>
            Effect.map(
              sql.unsafe<{ version: bigint | null }>(
                `select ${versionOfRows("v", "id")} as version from versioned v where id = any($1::int4[])`,
                [column.integers(ids)]
              ),
              ([row]) => row?.version
            )
          const [both, others] = [yield* readVersion(1, 2), yield* readVersion(2, 3)]
          assert.notStrictEqual(both, others)
          assert.strictEqual(yield* readVersion(), null)
          yield* sql`update versioned set a = a where id = 1`
          assert.notStrictEqual(yield* readVersion(1, 2), both)
          assert.strictEqual(yield* readVersion(2, 3), others)
        }))

      it.effect("are of 64 bits where one transaction writes several rows, and where rows get the same contents", () =>
        Effect.gen(function*() {
          const sql = yield* SqlClient.SqlClient
          const { length } = Array.from({ length: 200_000 })
          const countOf = (version: string) =>
            Effect.map(
              sql.unsafe<{ count: number }>(
                `select count(distinct version)::int4 as count from (
                  select ${version} as version
                  from generate_series(1, ${length}) n, lateral (values (1::int8, n::text::xid), (2, n::text::xid)) v(id, xmin)
                  group by n
                ) versions`
              ).unprepared,
              ([row]) => row?.count
            )
          assert.strictEqual(yield* countOf(versionOfRows("v", "id")), length)
          assert.strictEqual(yield* countOf(versionOf("v.id", ["'title ' || n"])), length)
        }))

      it.effect("let readers share the newest entries of a topic until one of these changes", () =>
        Effect.gen(function*() {
          const sql = yield* SqlClient.SqlClient
          const store = yield* ResourceStore
          const { account, resource } = yield* newSubscription()
          const other = yield* newAccount
          const topic = { given: resource.url, canonical: resource.url, host: resource.host }
          yield* subscribe(wantedBy(other.id, { topic, format: "json" }))
          const read = (accountId: number, count = 2) =>
            Effect.map(store.findSubscribed(accountId, resource.url, count), Option.getOrThrow)
          assert.deepStrictEqual((yield* read(account.id)).newest, [])
          const [a, b, c, d] = [entry("a"), entry("b"), entry("c"), entry("d")]
          yield* record(found({ ...resource, code: 200 }, [a, b, c, d]))
          const first = yield* read(account.id)
          assert.deepStrictEqual([first.newest, first.resource.code], [[d, c], 200])
          yield* record(unchanged({ ...resource, code: 404 }))
          const second = yield* read(other.id)
          assert.strictEqual(second.newest, first.newest)
          assert.deepStrictEqual([second.resource.code, second.format], [404, "json"])
          const together = yield* Effect.all([read(account.id, 1), read(other.id), read(account.id, 3)], {
            concurrency: "unbounded"
          })
          assert.deepStrictEqual(together.map(({ newest }) => newest), [[d], [d, c], [d, c, b]])
          assert.strictEqual((yield* read(account.id, 1)).newest, together[0]?.newest)
          const changed = entry("c", { title: { value: "Changed", type: "text" } })
          yield* record({ ...unchanged(resource), updated: [changed] })
          assert.deepStrictEqual((yield* read(account.id)).newest, [d, changed])
          yield* sql`delete from entries where resource_id = ${BigInt(resource.id)} and body like '%"d"%'`
          yield* sql`vacuum full entries`.unprepared // moves the others to its place
          assert.deepStrictEqual((yield* read(account.id)).newest, [changed, b])
          yield* sql`delete from entries where resource_id = ${BigInt(resource.id)}`
          assert.deepStrictEqual((yield* read(account.id)).newest, [])
        }))

      it.effect("let requests share a list until its contents change", () =>
        Effect.gen(function*() {
          const sql = yield* SqlClient.SqlClient
          const store = yield* SubscriptionStore
          const account = yield* newAccount
          const { resource, subscription } = yield* subscribe(wantedBy(account.id))
          const read = store.listBriefly({ accountId: account.id, page: 1, byPage: 2 })
          const titles = Effect.map(read, (items) => items.map((item) => item.resource.header?.title?.value))
          const feed = { ...resource, kind: "feed" as const, header: { title: { value: "Feed", type: "text" } } }
          yield* record(found(feed, [entry("a")]))
          const first = yield* read
          assert.deepStrictEqual(yield* titles, ["Feed"])
          yield* record(found(feed, [entry("b")])) // writes the subscription and the resource
          assert.strictEqual(yield* read, first)
          const header = JSON.stringify({ title: { value: "Renamed", type: "text" } })
          yield* sql`update resources set header = ${header} where id = ${BigInt(resource.id)}`
          assert.deepStrictEqual(yield* titles, ["Renamed"])
          yield* sql`update resources set kind = 2 where id = ${BigInt(resource.id)}`
          assert.deepStrictEqual((yield* read).map((item) => item.resource.kind), ["json"])
          yield* subscribe(wantedBy(account.id))
          assert.deepStrictEqual(yield* titles, ["Renamed", undefined])
          yield* subscribe(wantedBy(account.id))
          assert.deepStrictEqual(yield* titles, ["Renamed", undefined])
          yield* sql`update subscriptions set format = 1 where id = ${BigInt(subscription.id)}`
          assert.deepStrictEqual((yield* read).map((item) => item.subscription.format), ["json", undefined])
          yield* sql`delete from subscriptions where account_id = ${account.id}`
          assert.deepStrictEqual(yield* read, [])
        }))

      it.effect("keep the lists of accounts and pages apart that are read together", () =>
        Effect.gen(function*() {
          const store = yield* SubscriptionStore
          const [one, other] = [yield* newAccount, yield* newAccount]
          const wanted = [one, one, one, other, other].map(({ id }) => wantedBy(id))
          yield* store.subscribeAll(wanted.slice(0, 3))
          yield* store.subscribeAll(wanted.slice(3))
          const [a, b, c, x, y] = wanted.map(({ topic }) => topic.canonical)
          const pages = [[one, 1, 2, [a, b]], [other, 1, 2, [x, y]], [one, 1, 3, [a, b, c]], [one, 2, 2, [c]]] as const
          const read = Effect.forEach(
            pages,
            ([{ id }, page, byPage]) => store.listBriefly({ accountId: id, page, byPage }),
            { concurrency: "unbounded" }
          )
          const topicsOf = (lists: Effect.Success<typeof read>) =>
            lists.map((items) => items.map((item) => item.subscription.topic))
          const first = yield* read
          assert.deepStrictEqual(topicsOf(first), pages.map(([, , , topics]) => [...topics]))
          yield* store.subscribeAll([wantedBy(other.id)])
          const again = yield* read
          assert.deepStrictEqual(again.map((list, i) => list === first[i]), [true, true, true, true])
        }))

      it.effect("keep the database from reading unchanged rows again", () =>
        Effect.gen(function*() {
          const sql = yield* sqlWithGenericPlans
          const { account, resource } = yield* newSubscription()
          yield* record(found(resource, [entry("a")]))
          const statements = [
            [seenSql, [column.texts([resource.url]), column.integers([account.id]), column.integers([10])]],
            [firstPagesSql, [column.integers([account.id]), column.ids([0]), column.ids([10])]]
          ] as const
          for (const [statement, parameters] of statements) {
            const [row] = yield* sql.unsafe<{ version: bigint }>(statement, [
              ...parameters,
              column.versions([undefined])
            ])
            assert.notMatch(yield* explain(statement, [...parameters, column.versions([undefined])]), never)
            assert.match(yield* explain(statement, [...parameters, column.versions([row?.version])]), never)
          }
        }))
    })
  })
}
