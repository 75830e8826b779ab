import type { PgClient } from "@effect/sql-pg"
import { Effect, Layer, type Redacted } from "effect"
import type { SqlClient } from "effect/sql"
import * as DatabaseSocket from "#layers/postgres/DatabaseSocket.ts"
import type { DatabaseError } from "#layers/postgres/DatabaseError.ts"
import * as DataDirectory from "#layers/postgres/DataDirectory.ts"
import * as EmbeddedPostgres from "#layers/postgres/EmbeddedPostgres.ts"
import * as Postgres from "#layers/postgres/Postgres.ts"
import type { BackupError } from "./BackupError.ts"
import { maxContentBytes } from "./BackupFormat.ts"
import * as Clone from "./Clone.ts"

type Client = PgClient.PgClient | SqlClient.SqlClient

/** The database of a data directory, or of a server. */
export type Place =
  | { readonly _tag: "Embedded"; readonly dataDir: string }
  | { readonly _tag: "Server"; readonly url: Redacted.Redacted }

/** A row arrives as one message, with a few bytes around it. */
const maxMessageSize = maxContentBytes + 1024

/** The embedded database of a running service. */
export const layerRunning = (dataDir: string) => DatabaseSocket.layer({ dataDir, maxMessageSize })

/** A server, without time limits. */
export const layerServer = (url: Redacted.Redacted) => Postgres.layerCommand({ url, maxMessageSize })

/** A cluster whose data directory this process has locked. */
export const layerCluster = (cluster: string) => EmbeddedPostgres.layerCluster({ cluster, maxMessageSize })

/** The embedded database of a data directory without a running service. */
export const layerStopped = (dataDir: string): Layer.Layer<Client, DatabaseError> =>
  Layer.unwrap(Effect.gen(function*() {
    yield* DataDirectory.requireCluster(dataDir)
    return layerCluster(yield* DataDirectory.open(dataDir))
  }))

/** A copy of the embedded database of a running service. */
const layerClone = (dataDir: string): Layer.Layer<Client, BackupError | DatabaseError> =>
  Layer.unwrap(Effect.map(Clone.make(dataDir).pipe(Effect.provide(layerRunning(dataDir))), layerCluster))

/** A database whose rows a backup can read for minutes without a pause of the service. */
export const layer = (place: Place): Layer.Layer<Client, BackupError | DatabaseError> =>
  place._tag === "Server"
    ? layerServer(place.url)
    : Layer.unwrap(
      Effect.map(
        DatabaseSocket.isServed(place.dataDir),
        (isServed) => isServed ? layerClone(place.dataDir) : layerStopped(place.dataDir)
      )
    )
