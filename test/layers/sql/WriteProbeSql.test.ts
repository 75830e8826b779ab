import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { WriteFailure } from "#domain/ports/StoreError.ts"
import { WriteProbe } from "#domain/ports/WriteProbe.ts"
import * as WriteProbeSql from "#layers/sql/WriteProbeSql.ts"
import { engines } from "#test/support/Databases.ts"

for (const engine of engines) {
  describe.skipIf(!engine.available)(`writing as an attempt, ${engine.name}`, () => {
    layer(Layer.provideMerge(WriteProbeSql.layer, engine.layer), { excludeTestServices: true })(
      (it) => {
        it.effect("fails in a read-only transaction and notes the reason", () =>
          Effect.gen(function*() {
            const sql = yield* SqlClient.SqlClient
            const { attempt } = yield* WriteProbe
            const suspected = { reason: undefined }
            const refused = sql.withTransaction(Effect.andThen(sql.unsafe("set transaction read only"), attempt))
            const error = yield* Effect.flip(Effect.provideService(refused, WriteFailure, suspected))
            assert.include(error.message, "25006")
            assert.strictEqual(suspected.reason, "read-only")
          }))

        it.effect("leaves nothing behind", () =>
          Effect.gen(function*() {
            const sql = yield* SqlClient.SqlClient
            yield* (yield* WriteProbe).attempt
            assert.deepStrictEqual(
              yield* sql.unsafe("select relname from pg_class where relname like '%write_probe%'"),
              []
            )
          }))
      }
    )
  })
}
