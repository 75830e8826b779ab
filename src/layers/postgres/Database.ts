import type { PgClient } from "@effect/sql-pg"
import { Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import { Settings } from "#domain/ports/Settings.ts"
import { migrate } from "#layers/sql/Migrations.ts"
import type { DatabaseError } from "./DatabaseError.ts"
import * as EmbeddedPostgres from "./EmbeddedPostgres.ts"
import * as Postgres from "./Postgres.ts"

type Client = PgClient.PgClient | SqlClient.SqlClient

/** The database of the settings with its present schema, for `windhover migrate`. */
export const layerUnmigrated: Layer.Layer<Client, DatabaseError, Settings> = Layer.unwrap(
  Settings.useSync(({ databaseUrl, dataDir }) =>
    databaseUrl === undefined ? EmbeddedPostgres.layer({ directory: dataDir }) : Postgres.layer({ url: databaseUrl })
  )
)

/** The database of the settings with the schema of this program. */
export const layer: Layer.Layer<Client, DatabaseError, Settings> = Layer.effectDiscard(
  Effect.flatMap(
    migrate,
    (done) => done.length === 0 ? Effect.void : Effect.logInfo(`The database was brought to ${done.at(-1)}.`)
  )
).pipe(Layer.provideMerge(layerUnmigrated))
