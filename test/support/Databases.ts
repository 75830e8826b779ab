import type { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Redacted } from "effect"
import type { SqlClient } from "effect/sql"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { inject } from "vitest"
import * as EmbeddedPostgres from "#layers/postgres/EmbeddedPostgres.ts"
import { migrate } from "#layers/sql/Migrations.ts"
import * as Postgres from "#layers/postgres/Postgres.ts"

type Database = Layer.Layer<PgClient.PgClient | SqlClient.SqlClient>

/** A directory that is removed with the scope. */
export const temporaryDirectory = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "windhover-test-"))),
  (directory) => Effect.sync(() => fs.rmSync(directory, { recursive: true, force: true }))
)

/** A new embedded database with the schema. */
const layerEmbedded: Database = Layer.effectDiscard(migrate).pipe(
  Layer.provideMerge(
    Layer.unwrap(Effect.map(temporaryDirectory, (directory) => EmbeddedPostgres.layer({ directory })))
  ),
  Layer.orDie
)

const broker = inject("postgres")

const ask = (method: "POST" | "DELETE", name = "") =>
  Effect.promise(async () => {
    const response = await fetch(`${broker}/${name}`, { method })
    const text = await response.text()
    if (!response.ok) throw new Error(text)
    return text
  })

/** URL of a new database with the schema on the real server, dropped with the scope. */
export const serverDatabase = Effect.acquireRelease(
  ask("POST"),
  (url) => ask("DELETE", new URL(url).pathname.slice(1))
)

/** URL of a new database without the schema on the real server, dropped with the scope. */
export const emptyDatabase = Effect.acquireRelease(
  ask("POST", "empty"),
  (url) => ask("DELETE", new URL(url).pathname.slice(1))
)

const layerServer: Database = Layer.unwrap(
  Effect.map(serverDatabase, (url) => Postgres.layer({ url: Redacted.make(url) }))
).pipe(Layer.orDie)

/**
 * Database engines of every SQL suite, with one new database per layer. `available` is false without an installed server; use
 * `describe.skipIf(!available)`. The start of the run warns about skipped tests.
 */
export const engines: ReadonlyArray<{ readonly name: string; readonly available: boolean; readonly layer: Database }> =
  [
    { name: "embedded", available: true, layer: layerEmbedded },
    { name: "server", available: broker !== undefined, layer: layerServer }
  ]
