import type { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Schedule } from "effect"
import type { SqlClient } from "effect/sql"
import { Settings } from "#domain/ports/Settings.ts"
import { forgetAbandoned } from "#layers/sql/ChangeRecord.ts"
import { migrate } from "#layers/sql/Migrations.ts"
import * as DataDirectory from "./DataDirectory.ts"
import type { DatabaseError } from "./DatabaseError.ts"
import * as EmbeddedPostgres from "./EmbeddedPostgres.ts"
import * as Postgres from "./Postgres.ts"

type Client = PgClient.PgClient | SqlClient.SqlClient

const layerOpened: Layer.Layer<Client, DatabaseError, Settings> = Layer.unwrap(
  Settings.useSync(({ databaseUrl, dataDir }) =>
    databaseUrl === undefined ? EmbeddedPostgres.layer({ directory: dataDir }) : Postgres.layer({ url: databaseUrl })
  )
)

/** Fails when the settings name no database yet. Only `serve` and `init` create one. */
const requireDatabase = Layer.effectDiscard(
  Effect.flatMap(
    Settings,
    ({ databaseUrl, dataDir }) => databaseUrl === undefined ? DataDirectory.requireCluster(dataDir) : Effect.void
  )
)

/** The existing database of the settings with its present schema, for `windhover migrate`. */
export const layerUnmigrated: Layer.Layer<Client, DatabaseError, Settings> = Layer.unwrap(
  Effect.as(Layer.build(requireDatabase), layerOpened)
)

/** A service that is started while `windhover move` completes its database waits, a minute at most. */
const migrateWhenLoaded = Effect.retry(migrate, {
  while: ({ reason }) => reason._tag === "Loading",
  schedule: Schedule.spaced("200 millis").pipe(Schedule.upTo({ duration: "1 minute" }))
})

/** Interval between checks for the triggers of a move that was killed while the service ran. */
const moveCheckInterval = "1 minute"

const layerMigrated = Layer.effectDiscard(Effect.gen(function*() {
  const done = yield* migrateWhenLoaded
  if (done.length > 0) {
    yield* Effect.annotateLogs(Effect.logInfo("The schema of the database was migrated."), { migration: done.at(-1) })
  }
  yield* forgetAbandoned
  yield* Effect.forkScoped(Effect.repeat(Effect.delay(forgetAbandoned, moveCheckInterval), Schedule.forever))
}))

/** The database of the settings with the schema of this program; created if it is missing. */
export const layer: Layer.Layer<Client, DatabaseError, Settings> = layerMigrated.pipe(Layer.provideMerge(layerOpened))

/** The same, of an existing database. */
export const layerExisting: Layer.Layer<Client, DatabaseError, Settings> = layerMigrated.pipe(
  Layer.provideMerge(layerUnmigrated)
)
