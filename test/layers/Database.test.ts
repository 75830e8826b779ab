import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { migrate } from "#layers/Migrations.ts"
import { engines } from "#test/support/Databases.ts"

for (const engine of engines) {
  describe.skipIf(!engine.available)(`database: ${engine.name}`, () => {
    layer(engine.layer, { timeout: "30 seconds" })((it) => {
      it.effect("has the schema", () =>
        Effect.gen(function*() {
          const sql = yield* SqlClient.SqlClient
          assert.deepStrictEqual(yield* sql`select count(*)::int as n from accounts`, [{ n: 0 }])
          assert.deepStrictEqual(yield* migrate, [])
        }))
    })
  })
}
