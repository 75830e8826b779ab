import { PgClient } from "@effect/sql-pg"
import { type Duration, Effect, Layer, type Redacted, Schedule } from "effect"
import * as Reactivity from "effect/reactivity/Reactivity"
import type { SqlClient, SqlError } from "effect/sql"
import { DatabaseError } from "./DatabaseError.ts"
import * as DatabaseHeartbeat from "#layers/sql/DatabaseHeartbeat.ts"
import { DatabaseLiveness } from "#layers/sql/DatabaseLiveness.ts"
import { maxMessageSize, patchPgClient } from "./PgClientPatches.ts"
import { describe, isPassing, sqlState } from "#layers/sql/Query.ts"

/** Major version; older ones are not supported by their makers either. */
const oldest = 14

/** While the server is waited for, one failure of so many is told. */
const toldEvery = 8

/**
 * A PostgreSQL server, by URL: version 14 or newer.
 *
 * At the start the server is waited for, a minute unless `patience` says otherwise: the services of a machine start in any order.
 * Later it may go away and come back: statements fail with `ConnectionError` meanwhile, then connections are opened anew.
 */
export const layer = (
  options: { readonly url: Redacted.Redacted; readonly patience?: Duration.Input }
): Layer.Layer<PgClient.PgClient | SqlClient.SqlClient, DatabaseError> =>
  Layer.mergeAll(layerClient(options), layerPulse(options.url))

const layerClient = (options: Parameters<typeof layer>[0]) =>
  PgClient.layerFrom(Effect.gen(function*() {
    const client = yield* connect(options.url)
    let failures = 0
    yield* checkVersion(client).pipe(
      Effect.tapError((error) =>
        mayCome(error) && failures++ % toldEvery === 0
          ? Effect.logWarning(`Waiting for PostgreSQL: ${error.message}`)
          : Effect.void
      ),
      Effect.retry({
        while: mayCome,
        schedule: Schedule.spaced("2 seconds").pipe(Schedule.upTo({ duration: options.patience ?? "1 minute" }))
      })
    )
    return client
  }))

/** Over a connection of its own, which is open only while something takes long, and a minute more. */
const layerPulse = (url: Redacted.Redacted) =>
  Layer.effect(DatabaseLiveness, Effect.flatMap(connect(url, 1), DatabaseHeartbeat.make)).pipe(
    Layer.provide(Reactivity.layer)
  )

const connect = (url: Redacted.Redacted, maxConnections = 10) =>
  PgClient.make({
    url,
    maxConnections,
    applicationName: "windhover",
    startupParameters: {
      // Nothing here is meant to take long; what does is stuck, and would hold its locks for ever.
      statement_timeout: "30s",
      idle_in_transaction_session_timeout: "60s"
    },
    keepAlive: "30 seconds", // a peer that vanished is noticed while nothing is asked of it
    maxMessageSize
  }).pipe(
    Effect.orDie, // it connects at the first statement, not here
    Effect.map((client) => patchPgClient(client, "pg"))
  )

const checkVersion = (sql: SqlClient.SqlClient): Effect.Effect<void, DatabaseError> =>
  sql<{ number: number; name: string }>`
    select current_setting('server_version_num')::int as number, current_setting('server_version') as name`.pipe(
    Effect.mapError(notReached),
    Effect.flatMap(([server]) =>
      server === undefined || server.number < oldest * 10_000
        ? Effect.fail(
          new DatabaseError({
            reason: "too-old",
            message:
              `The PostgreSQL server at WINDHOVER_DATABASE_URL has version ${server?.name}; ${oldest} or newer is needed.`
          })
        )
        : Effect.void
    )
  )

const mayCome = (error: DatabaseError) => error.reason === "unreachable"

const notReached = (error: SqlError.SqlError): DatabaseError =>
  error.reason._tag === "AuthenticationError" || sqlState(error) === "3D000" || !isPassing(error)
    ? new DatabaseError({
      reason: "refused",
      message: `The PostgreSQL server refused the connection: ${describe(error)}. `
        + "Check user, password and database name in WINDHOVER_DATABASE_URL.",
      cause: error
    })
    : new DatabaseError({
      reason: "unreachable",
      message: `No PostgreSQL server answers at WINDHOVER_DATABASE_URL: ${describe(error)}.`,
      cause: error
    })
