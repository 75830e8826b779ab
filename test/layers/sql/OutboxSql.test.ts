import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { Outbox } from "#domain/ports/Outbox.ts"
import { engines } from "#test/support/Databases.ts"
import { entry, found, newSubscription, record } from "#test/support/StoreFixture.ts"
import { storesSql } from "#test/support/StoresSql.ts"

for (const engine of engines) {
  describe.skipIf(!engine.available)(`OutboxSql, ${engine.name}`, () => {
    layer(Layer.provideMerge(storesSql, engine.layer), { excludeTestServices: true })((it) => {
      it.effect("deletes confirmed deliveries in the background, also after an idle period", () =>
        Effect.gen(function*() {
          const sql = yield* SqlClient.SqlClient
          const outbox = yield* Outbox
          const { resource } = yield* newSubscription()
          for (const id of ["a", "b"]) {
            const deliveries = yield* record(found(resource, [entry(id)]))
            assert.strictEqual(deliveries.length, 1)
            yield* outbox.confirm(deliveries[0]?.id ?? 0)
            const left = sql<{ count: number }>`select count(*)::int4 as count from deliveries`
            yield* Effect.repeat(left, {
              schedule: Schedule.spaced("10 millis"),
              until: ([row]) => row?.count === 0
            })
          }
        }))
    })
  })
}
