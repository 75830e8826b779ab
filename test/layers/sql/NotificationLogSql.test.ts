import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { NotificationLog } from "#domain/ports/NotificationLog.ts"
import { Outbox } from "#domain/ports/Outbox.ts"
import * as RetentionSql from "#layers/sql/RetentionSql.ts"
import { engines } from "#test/support/Databases.ts"
import { entry, found, newSubscription, record, unchanged } from "#test/support/StoreFixture.ts"
import { storesSql } from "#test/support/StoresSql.ts"

/** An outbox of its own, whose first look for old notifications is over. */
const pruned = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* Layer.build(Layer.fresh(RetentionSql.layer))
  const left = sql<{ count: number }>`select count(*)::int4 as count from notifications`
  return yield* Effect.repeat(left, { until: ([row]) => (row?.count ?? 0) < 4 })
}).pipe(Effect.scoped)

for (const engine of engines) {
  describe.skipIf(!engine.available)(`NotificationLogSql, ${engine.name}`, () => {
    layer(Layer.provideMerge(storesSql, engine.layer), { excludeTestServices: true })((it) => {
      it.effect("keeps entries for a day, documents for an hour, waiting and dropped notifications longer", () =>
        Effect.gen(function*() {
          const sql = yield* SqlClient.SqlClient
          const { resource, subscription } = yield* newSubscription()
          const document = { contentType: "text/plain", body: Uint8Array.of(1) }
          yield* record(found(resource, [entry("25 hours ago")]))
          yield* record({ ...unchanged({ ...resource, signature: 2n }), announce: { _tag: "Document", document } })
          yield* record(found(resource, [entry("23 hours ago")]))
          yield* record(found(resource, [entry("25 hours ago, not delivered")]))
          yield* record({ ...unchanged({ ...resource, signature: 3n }), announce: { _tag: "Document", document } })
          const outbox = yield* Outbox
          const { deliveries } = yield* outbox.backlog(subscription.id, 10)
          yield* Effect.forEach(deliveries.slice(0, 3), ({ id }) => outbox.confirm(id))
          yield* outbox.flush
          yield* outbox.drop(deliveries[4] ?? assert.fail(), { code: 503, message: "The callback answered 503." })
          yield* sql`update notifications n set created_at = now() - age * interval '1 hour'
            from unnest(array[25, 2, 23, 25, 2]) with ordinality p(age, place) where n.sequence = p.place`
          yield* pruned
          const left = yield* NotificationLog.use((log) => log.readAfter(resource.id, 0, 10))
          assert.deepStrictEqual(left.map(({ sequence }) => sequence), [3, 4, 5])
          assert.deepStrictEqual(yield* NotificationLog.use((log) => log.heads([resource.id])), [5])
        }))
    })
  })
}
