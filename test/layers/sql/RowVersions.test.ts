import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import { SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import { makeVersionMemory, versionOfRows } from "#layers/sql/RowVersions.ts"
import { engines } from "#test/support/Databases.ts"
import { entry, found, newAccount, newSubscription, record, subscribe, wantedBy } from "#test/support/StoreFixture.ts"
import { storesSql } from "#test/support/StoresSql.ts"

describe("makeVersionMemory", () => {
  const makeReader = (maxLength: number, minLength: number) => {
    const memory = makeVersionMemory<string>(maxLength, minLength)
    /** Reads the texts as their own keys, and returns the misses. */
    return (texts: ReadonlyArray<string>) =>
      texts.filter((text) => {
        const known = memory.get(text)
        if (known === undefined) memory.set(text, { version: 1n, value: text }, text.length)
        else assert.deepStrictEqual([known.version, known.value], [1n, text])
        return known === undefined
      })
  }

  it("keeps the last value of a key with its version", () => {
    const memory = makeVersionMemory<string>(10, 1)
    memory.set("a", { version: 1n, value: "old" }, 6)
    memory.set("a", { version: 2n, value: "new" }, 6)
    memory.set("b", { version: 1n, value: "b" }, 4)
    assert.deepStrictEqual([memory.get("a")?.version, memory.get("a")?.value, memory.get("b")?.value], [2n, "new", "b"])
    memory.set("b", { version: 2n, value: "too long" }, 8)
    assert.isUndefined(memory.get("b"))
    memory.set("c", { version: 1n, value: "c" }, 4)
    assert.strictEqual(memory.get("c")?.value, "c")
  })

  it("keeps as many characters as it may, and begins anew after misses of 16 times as many", () => {
    const read = makeReader(20, 1)
    const [a, b, c, long] = ["a".repeat(10), "b".repeat(10), "c".repeat(10), "d".repeat(21)]
    assert.deepStrictEqual(read([a, b, a, b]), [a, b])
    assert.deepStrictEqual(read([c, a, b, c, long, long]), [c, c, long, long])
    read(Array.from({ length: 23 }, () => c)) // with those above, 312 of 320 characters
    assert.deepStrictEqual(read([a, b]), [])
    assert.deepStrictEqual(read([c, c, a, a, b, c, b]), [c, a, b, b])
  })

  it("counts short values as longer ones", () => {
    assert.deepStrictEqual(makeReader(20, 10)(["a", "b", "c", "a", "b", "c"]), ["a", "b", "c", "c"])
  })
})

for (const engine of engines) {
  describe.skipIf(!engine.available)(`versions of rows, ${engine.name}`, () => {
    layer(Layer.provideMerge(storesSql, engine.layer), { excludeTestServices: true })((it) => {
      it.effect("differ after each write of a row, and for other rows", () =>
        Effect.gen(function*() {
          const sql = yield* SqlClient.SqlClient
          yield* sql`create table versioned (a int)`
          yield* sql`insert into versioned values (1), (2)`
          const versionOf = (condition: string) =>
            Effect.map(
              sql.unsafe<{ version: bigint | null }>(
                `select ${versionOfRows("v")} as version from versioned v where ${condition}`
              ),
              ([row]) => row?.version
            )
          const [all, one, none] = [yield* versionOf("true"), yield* versionOf("a = 1"), yield* versionOf("false")]
          assert.strictEqual(yield* versionOf("true"), all)
          assert.strictEqual(none, null)
          yield* sql`update versioned set a = a where a = 2`
          assert.strictEqual(yield* versionOf("a = 1"), one)
          const updated = yield* versionOf("true")
          yield* sql`delete from versioned where a = 2`
          yield* sql`insert into versioned values (2)`
          const replaced = yield* versionOf("true")
          assert.strictEqual(new Set([all, one, updated, replaced]).size, 4)
        }))

      it.effect("let readers share the newest entries of a topic until one of these changes", () =>
        Effect.gen(function*() {
          const sql = yield* SqlClient.SqlClient
          const store = yield* ResourceStore
          const { account, resource } = yield* newSubscription()
          const other = yield* newAccount
          const topic = { given: resource.url, canonical: resource.url, host: resource.host }
          yield* subscribe(wantedBy(other.id, { topic, format: "json" }))
          const read = (accountId: number) =>
            Effect.map(store.findSubscribed(accountId, resource.url, 2), Option.getOrThrow)
          const unread = (yield* read(account.id)).newest
          assert.deepStrictEqual(unread, [])
          const [a, b, c] = [entry("a"), entry("b"), entry("c")]
          yield* record(found({ ...resource, code: 200 }, [a, b, c]))
          const first = yield* read(account.id)
          assert.deepStrictEqual([first.newest, first.resource.code], [[c, b], 200])
          yield* record({ state: { ...resource, code: 404 }, entries: [], updated: [], announce: undefined })
          const second = yield* read(other.id)
          assert.strictEqual(second.newest, first.newest)
          assert.deepStrictEqual([second.resource.code, second.format], [404, "json"])
          const changed = entry("b", { title: { value: "Changed", type: "text" } })
          yield* record({ state: resource, entries: [], updated: [changed], announce: undefined })
          assert.deepStrictEqual((yield* read(account.id)).newest, [c, changed])
          yield* sql`delete from entries where resource_id = ${BigInt(resource.id)} and body like '%"c"%'`
          assert.deepStrictEqual((yield* read(account.id)).newest, [changed, a])
          yield* sql`delete from entries where resource_id = ${BigInt(resource.id)}`
          assert.deepStrictEqual((yield* read(account.id)).newest, [])
        }))

      it.effect("let requests share a list until a subscription or resource of it changes", () =>
        Effect.gen(function*() {
          const sql = yield* SqlClient.SqlClient
          const store = yield* SubscriptionStore
          const account = yield* newAccount
          const { resource, subscription } = yield* subscribe(wantedBy(account.id))
          const read = store.listBriefly({ accountId: account.id, page: 1, byPage: 2 })
          const titles = Effect.map(read, (items) => items.map((item) => item.resource.header?.title?.value))
          const first = yield* read
          assert.strictEqual(yield* read, first)
          const title = { value: "Feed", type: "text" }
          yield* record(found({ ...resource, kind: "feed", header: { title } }, [entry("a")]))
          assert.deepStrictEqual(yield* titles, ["Feed"])
          yield* subscribe(wantedBy(account.id))
          assert.deepStrictEqual(yield* titles, ["Feed", undefined])
          yield* subscribe(wantedBy(account.id))
          const unchanged = yield* read
          yield* subscribe(wantedBy((yield* newAccount).id))
          assert.strictEqual(yield* read, unchanged)
          yield* sql`update subscriptions set format = 1 where id = ${BigInt(subscription.id)}`
          assert.deepStrictEqual((yield* read).map((item) => item.subscription.format), ["json", undefined])
          yield* sql`delete from subscriptions where account_id = ${account.id}`
          assert.deepStrictEqual(yield* read, [])
        }))
    })
  })
}
