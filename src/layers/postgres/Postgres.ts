import { PgClient } from "@effect/sql-pg"
import { type Duration, Effect, Layer, type Redacted, Schedule } from "effect"
import * as Reactivity from "effect/reactivity/Reactivity"
import type { SqlClient, SqlError } from "effect/sql"
import * as DatabaseHeartbeat from "#layers/sql/DatabaseHeartbeat.ts"
import { DatabaseLiveness } from "#layers/sql/DatabaseLiveness.ts"
import { GenericPlanClient, genericPlans } from "#layers/sql/GenericPlans.ts"
import { describe, isTransient, sqlState } from "#layers/sql/Query.ts"
import { type DatabaseError, databaseError } from "./DatabaseError.ts"
import { maxMessageSize, patchPgClient } from "./PgClientPatches.ts"
import { ServerSockets } from "./ServerSockets.ts"

/** Oldest supported major version: its makers support no older one either. */
const minVersion = 14

/** While the start waits for the server, every eighth failure is logged. */
const logEvery = 8

interface PostgresOptions {
  readonly url: Redacted.Redacted
  /** How long the start waits for the server; a minute by default, because the services of a machine start in any order. */
  readonly startTimeout?: Duration.Input
}

/**
 * A PostgreSQL server of version 14 or newer.
 *
 * While the server is down later, statements fail with `ConnectionError`. The client reconnects when the server is back.
 */
export const layer = (
  options: PostgresOptions
): Layer.Layer<PgClient.PgClient | SqlClient.SqlClient, DatabaseError> =>
  Layer.mergeAll(layerClient(options), layerGenericPlans(options.url), layerLiveness(options.url))

/** The same server for a command that reads or writes whole tables: without time limits, and under a name of its own. */
export const layerCommand = (
  options: PostgresOptions & { readonly maxMessageSize: number }
): Layer.Layer<PgClient.PgClient | SqlClient.SqlClient, DatabaseError> =>
  layerClient(
    options,
    makeClient({
      url: options.url,
      maxConnections: 4,
      applicationName: "windhover-command",
      startupParameters: {
        statement_timeout: "0",
        idle_in_transaction_session_timeout: "0",
        idle_session_timeout: "0"
      },
      maxMessageSize: options.maxMessageSize
    })
  )

const layerClient = ({ startTimeout = "1 minute", url }: PostgresOptions, make = connect(url, { maxConnections: 5 })) =>
  PgClient.layerFrom(Effect.gen(function*() {
    const client = yield* make
    let failures = 0
    yield* checkVersion(client).pipe(
      Effect.tapError((error) =>
        isUnreachable(error) && failures++ % logEvery === 0
          ? Effect.annotateLogs(Effect.logWarning("The start waits for PostgreSQL."), { reason: error.message })
          : Effect.void
      ),
      Effect.retry({
        while: isUnreachable,
        schedule: Schedule.spaced("2 seconds").pipe(Schedule.upTo({ duration: startTimeout }))
      })
    )
    return client
  }))

const layerGenericPlans = (url: Redacted.Redacted) =>
  Layer.effect(GenericPlanClient, connect(url, { maxConnections: 5, startupParameters: genericPlans })).pipe(
    Layer.provide(Reactivity.layer)
  )

/** Name of the service's connections on the server. */
export const applicationName = "windhover"

/** Uses a connection of its own. It is open while a statement takes long, and for a minute after. */
const layerLiveness = (url: Redacted.Redacted) =>
  Layer.effect(DatabaseLiveness, Effect.flatMap(connect(url, { maxConnections: 1 }), DatabaseHeartbeat.make)).pipe(
    Layer.provide(Reactivity.layer)
  )

const connect = (
  url: Redacted.Redacted,
  { maxConnections, startupParameters = {} }: Pick<PgClient.PgPoolConfig, "maxConnections" | "startupParameters">
) =>
  makeClient({
    url,
    maxConnections,
    applicationName,
    startupParameters: {
      // No statement takes long by design. A stuck one would hold its locks without these limits.
      statement_timeout: "30s",
      idle_in_transaction_session_timeout: "60s",
      ...startupParameters
    },
    maxMessageSize
  })

const makeClient = ({ url, ...config }: PgClient.PgPoolConfig & { readonly url: Redacted.Redacted }) =>
  Effect.flatMap(
    ServerSockets,
    ({ connect }) => PgClient.make({ ...config, url, stream: () => connect(url) })
  ).pipe(
    Effect.orDie, // the client connects at the first statement, so that this cannot fail
    Effect.map((client) => patchPgClient(client, "pg"))
  )

const checkVersion = (sql: SqlClient.SqlClient): Effect.Effect<void, DatabaseError> =>
  sql<{ number: number; name: string }>`
    select current_setting('server_version_num')::int as number, current_setting('server_version') as name`.pipe(
    Effect.mapError(explainConnect),
    Effect.flatMap(([server]) =>
      server === undefined || server.number < minVersion * 10_000
        ? Effect.fail(databaseError(
          "TooOld",
          `The PostgreSQL server at WINDHOVER_DATABASE_URL has version ${server?.name}; ${minVersion} or newer is needed.`
        ))
        : Effect.void
    )
  )

const isUnreachable = ({ reason }: DatabaseError) => reason._tag === "Unreachable"

const explainConnect = (error: SqlError.SqlError): DatabaseError =>
  error.reason._tag === "AuthenticationError" || sqlState(error) === "3D000" || !isTransient(error)
    ? databaseError(
      "Refused",
      `The PostgreSQL server refused the connection: ${describe(error)}. `
        + "Check user, password and database name in WINDHOVER_DATABASE_URL.",
      error
    )
    : databaseError(
      "Unreachable",
      `No PostgreSQL server answers at WINDHOVER_DATABASE_URL: ${describe(error)}.`,
      error
    )
