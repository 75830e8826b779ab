import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { EntryStore } from "#domain/ports/EntryStore.ts"
import { Outbox } from "#domain/ports/Outbox.ts"
import { MaxResourceBytes } from "#domain/ports/ResourceStore.ts"
import type { ResourceState } from "#domain/poll/Resource.ts"
import { engines } from "#test/support/Databases.ts"
import { entry, found, newSubscription, record, unchanged } from "#test/support/StoreFixture.ts"
import { storesSql } from "#test/support/StoresSql.ts"

const megabyte = 1024 * 1024
const maxBytes = 4 * megabyte

const document = (length: number) => ({ contentType: "text/plain", body: new Uint8Array(length).fill(65) })

/** Bytes of the notifications and entries of a resource. */
const countBytes = Effect.fnUntraced(function*({ id }: ResourceState) {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql.unsafe<{ bytes: number }>(
    `select ((select coalesce(sum(octet_length(document)), 0) from notifications where resource_id = $1::int8)
      + (select coalesce(sum(octet_length(body)), 0) from entries where resource_id = $1::int8))::float8 as bytes`,
    [BigInt(id)]
  )
  return row?.bytes ?? 0
})

const announce = (resource: ResourceState, signature: bigint) =>
  record({
    ...unchanged({ ...resource, signature }),
    announce: { _tag: "Document", document: document(megabyte) }
  })

for (const engine of engines) {
  describe.skipIf(!engine.available)(`bytes on disk, ${engine.name}`, () => {
    const stores = Layer.provide(storesSql, Layer.succeed(MaxResourceBytes, maxBytes))
    layer(Layer.provideMerge(stores, engine.layer), { excludeTestServices: true })((it) => {
      it.effect("of ever new documents of a resource stay within the limit", () =>
        Effect.gen(function*() {
          const { resource } = yield* newSubscription()
          const outbox = yield* Outbox
          for (let i = 1; i <= 20; i++) {
            const [delivery] = yield* announce(resource, BigInt(i))
            assert.ok(delivery)
            yield* outbox.confirm(delivery.id)
            assert.isAtMost(yield* countBytes(resource), maxBytes + megabyte)
          }
          assert.isAtLeast(yield* countBytes(resource), maxBytes / 2)
        }))

      it.effect("of ever new entries stay within the limit: the oldest go", () =>
        Effect.gen(function*() {
          const { resource } = yield* newSubscription()
          const value = "x".repeat(megabyte)
          for (let i = 1; i <= 12; i++) {
            yield* record({ ...unchanged(resource), entries: [entry(`e${i}`, { title: { type: "text", value } })] })
            assert.isAtMost(yield* countBytes(resource), maxBytes + megabyte)
          }
          const page = yield* (yield* EntryStore).page({ resourceIds: [resource.id], count: 50 })
          assert.deepStrictEqual(page._tag === "Page" ? page.entries[0]?.entry.id : "", "e12")
        }))

      it.effect("of a callback that never answers stay within twice the limit: the oldest deliveries are dropped", () =>
        Effect.gen(function*() {
          const { resource, subscription } = yield* newSubscription()
          for (let i = 1; i <= 20; i++) {
            yield* announce(resource, BigInt(i))
            assert.isAtMost(yield* countBytes(resource), 2 * maxBytes + megabyte)
          }
          const { deliveries } = yield* (yield* Outbox).backlog(subscription.id, 50)
          assert.strictEqual(deliveries.at(-1)?.sequence, 20)
          assert.isAtLeast(deliveries.length, 7)
        }))

      it.effect("of news that a waiting delivery needs stay", () =>
        Effect.gen(function*() {
          const { resource, subscription } = yield* newSubscription()
          const value = "x".repeat(megabyte)
          yield* record(found(resource, [entry("told", { title: { type: "text", value } })]))
          for (let i = 1; i <= 8; i++) {
            yield* record({ ...unchanged(resource), entries: [entry(`e${i}`, { title: { type: "text", value } })] })
          }
          const { deliveries: [waiting] } = yield* (yield* Outbox).backlog(subscription.id, 10)
          const news = waiting?.notification.news
          assert.deepStrictEqual(news?._tag === "Entries" ? news.entries.map(({ id }) => id) : [], ["told"])
          assert.isAtMost(yield* countBytes(resource), maxBytes + 2 * megabyte)
        }))
    })
  })
}
