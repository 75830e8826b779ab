import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Outbox } from "#domain/ports/Outbox.ts"
import { Replays } from "#domain/ports/Replays.ts"
import * as RetentionSql from "#layers/sql/RetentionSql.ts"
import { engines } from "#test/support/Databases.ts"
import { newSubscription } from "#test/support/StoreFixture.ts"
import { storesSql } from "#test/support/StoresSql.ts"

const document = { contentType: "text/plain", body: new Uint8Array(1_000) }
const status = { code: 200, http: "Fetched (ring) 200 900", period: 900 }

for (const engine of engines) {
  describe.skipIf(!engine.available)(`ReplaysSql, ${engine.name}`, () => {
    layer(Layer.provideMerge(storesSql, engine.layer), { excludeTestServices: true })((it) => {
      it.effect("deletes the document of a replay after delivery, or one hour after it was dropped", () =>
        Effect.gen(function*() {
          const sql = yield* SqlClient.SqlClient
          const { subscription } = yield* newSubscription()
          const outbox = yield* Outbox
          const queue = Replays.use((replays) =>
            replays.enqueue(subscription.id, { status, news: { _tag: "Document", document } }, {
              count: 10,
              bytes: 4_000
            })
          )
          yield* Effect.all([queue, queue, queue, queue])
          const [taken = assert.fail(), old = assert.fail(), recent = assert.fail(), waiting = assert.fail()] =
            (yield* outbox.backlog(subscription.id, 10)).deliveries
          yield* outbox.confirm(taken.id)
          yield* outbox.drop(old, { code: 500, message: "no" })
          yield* outbox.drop(recent, { code: 500, message: "no" })
          yield* outbox.flush
          yield* sql`update replays set created_at = now() - interval '61 minutes' where delivery_id = any(${[
            old.id,
            waiting.id
          ]})`
          yield* Layer.build(Layer.fresh(RetentionSql.layer))
          const left = sql<{ id: number }>`select id::float8 as id from notifications order by id`
          const rows = yield* Effect.repeat(left, { until: ({ length }) => length <= 2 })
          assert.deepStrictEqual(rows.map(({ id }) => id), [recent.notification.id, waiting.notification.id])
        }))
    })
  })
}
