import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Database from "#layers/postgres/Database.ts"
import * as Settings from "#layers/Settings.ts"
import { engines, serverDatabase, temporaryDirectory } from "#test/support/Databases.ts"

const withSettings = <A, E, R>(environment: { readonly [name: string]: string }, layer: Layer.Layer<A, E, R>) =>
  layer.pipe(
    Layer.provide(Settings.layer),
    Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(environment)))
  )

/** Without the one that the open hub's subscriptions belong to, which every database has. */
const accounts = SqlClient.SqlClient.use((sql) =>
  Effect.map(sql`select count(*)::int as n from accounts where id > 0`, (rows) => [rows, sql.driver])
)

describe("Database", () => {
  it.live("is embedded in the data directory and keeps its data over restarts", () =>
    Effect.gen(function*() {
      const directory = path.join(yield* temporaryDirectory, "data")
      const layer = withSettings({ WINDHOVER_DATA_DIR: directory }, Database.layer)
      yield* SqlClient.SqlClient.use((sql) =>
        sql`insert into accounts (login, password_hash, created_at) values ('one', '', now())`
      ).pipe(Effect.provide(layer))
      assert.deepStrictEqual(fs.readdirSync(directory), ["database", "lock"])
      assert.deepStrictEqual(yield* accounts.pipe(Effect.provide(Layer.fresh(layer))), [[{ n: 1 }], "pglite"])
    }))

  it.live("rejects a data directory in use", () =>
    Effect.gen(function*() {
      const layer = withSettings({ WINDHOVER_DATA_DIR: yield* temporaryDirectory }, Database.layer)
      yield* Layer.build(layer)
      const error = yield* Effect.flip(Effect.scoped(Layer.build(Layer.fresh(layer))))
      assert.strictEqual(error._tag === "DatabaseError" && error.reason._tag, "Locked")
    }))

  it.live.skipIf(!engines.every((engine) => engine.available))(
    "is the server of the URL",
    () =>
      Effect.gen(function*() {
        const layer = withSettings({ WINDHOVER_DATABASE_URL: yield* serverDatabase }, Database.layer)
        assert.deepStrictEqual(yield* accounts.pipe(Effect.provide(layer)), [[{ n: 0 }], "pg"])
      })
  )
})
