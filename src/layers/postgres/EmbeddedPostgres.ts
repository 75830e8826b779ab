import { PgClient } from "@effect/sql-pg"
import { Clock, Context, Deferred, Effect, Layer } from "effect"
import * as Reactivity from "effect/reactivity/Reactivity"
import { SqlClient } from "effect/sql"
import * as path from "node:path"
import { Duplex } from "node:stream"
import { maintain } from "#layers/postgres/embedded/Maintenance.ts"
import { startThread, type Thread } from "#layers/postgres/embedded/Thread.ts"
import { HasCommand } from "#layers/sql/ChangeRecord.ts"
import { GenericPlanClient, genericPlans } from "#layers/sql/GenericPlans.ts"
import { type DatabaseError, databaseError } from "./DatabaseError.ts"
import * as DatabaseSocket from "./DatabaseSocket.ts"
import * as DataDirectory from "./DataDirectory.ts"
import { maxMessageSize, patchPgClient } from "./PgClientPatches.ts"

/**
 * PostgreSQL inside this process: PGlite in a thread, behind the same client as a server.
 *
 * All connections share one session of one backend. So transactions of different connections run one after the other,
 * a running statement cannot be cancelled, and an advisory lock excludes no connection of this process.
 * `SqlClient.driver` is `pglite`, which tells Effect's cluster storage to use leases instead.
 *
 * After a crash of the thread, statements fail with `ConnectionError` until the thread is up again: 1 to 2 s.
 */
export const layer = (
  options: { readonly directory: string }
): Layer.Layer<PgClient.PgClient | SqlClient.SqlClient, DatabaseError> =>
  Layer.effectContext(makeClients(options.directory)).pipe(Layer.provide(Reactivity.layer))

/** The cluster of a data directory that this process has locked, or a copy of one, for a backup or a restore. No maintenance runs. */
export const layerCluster = (
  options: { readonly cluster: string; readonly maxMessageSize: number }
): Layer.Layer<PgClient.PgClient | SqlClient.SqlClient, DatabaseError> =>
  PgClient.layerFrom(
    Effect.flatMap(
      superviseThread(options.cluster),
      ({ stream }) => makeClient({ stream, maxConnections: 1, maxMessageSize: options.maxMessageSize })
    )
  )

const makeClients = Effect.fnUntraced(function*(directory: string) {
  const guests: DatabaseSocket.Guests = new Set()
  const { checkpoint, stream } = yield* superviseThread(yield* DataDirectory.open(directory))
  yield* DatabaseSocket.serve(directory, stream, guests)
  const client = yield* makeClient({ stream, maxConnections: 8, maxMessageSize })
  yield* maintain({ checkpoint, isCopied: () => guests.size > 0 }).pipe(
    Effect.provideService(SqlClient.SqlClient, client)
  )
  return Context.make(PgClient.PgClient, client).pipe(
    Context.add(SqlClient.SqlClient, client),
    Context.add(HasCommand, () => guests.size > 0),
    Context.add(
      GenericPlanClient,
      yield* makeClient({ stream, maxConnections: 4, maxMessageSize, startupParameters: genericPlans })
    )
  )
})

const makeClient = (config: PgClient.PgPoolConfig) =>
  PgClient.make({
    ...config,
    username: "postgres",
    database: "postgres",
    connectTimeout: "1 minute" // a new connection waits behind open transactions
  }).pipe(
    Effect.orDie, // the client connects at the first statement, so that this cannot fail
    Effect.map((client) => patchPgClient(client, "pglite"))
  )

/** Keeps a thread running until the scope closes. `stream` opens a connection to the current thread, and `checkpoint` runs there. */
const superviseThread = Effect.fnUntraced(function*(cluster: string) {
  let current: Thread | undefined
  let hasServed = false
  const up = yield* Deferred.make<void, DatabaseError>()

  const run = Effect.gen(function*() {
    // A cluster that vanishes while it serves has lost its volume. An empty cluster in its place would hide the loss.
    const thread = yield* startThread({ cluster, mayCreate: !hasServed })
    hasServed = true
    current = thread
    yield* Deferred.succeed(up, undefined)
    const problem = yield* thread.ended
    current = undefined
    yield* logProblem("The embedded database has stopped and is started again.", problem)
  }).pipe(
    Effect.scoped,
    Effect.catch((problem) =>
      Effect.flatMap(
        Deferred.fail(up, explainStart(cluster, problem)),
        (isFirstStart) => isFirstStart ? Effect.void : logProblem("The embedded database does not start yet.", problem)
      )
    )
  )

  yield* Effect.forkScoped(runRepeatedly(run), { startImmediately: true })
  yield* Deferred.await(up)
  return {
    stream: () => current?.connect() ?? new Duplex().destroy(new Error(beingStarted)),
    checkpoint: Effect.suspend(() => current?.checkpoint ?? Effect.fail(beingStarted))
  }
})

const beingStarted = "The embedded database is being started."

const logProblem = (text: string, reason: string) => Effect.annotateLogs(Effect.logError(text), { reason })

/** Restarts at once, then after 1, 2, 4 … 30 s. A run of more than a minute resets the wait. */
const runRepeatedly = Effect.fnUntraced(function*(run: Effect.Effect<void>) {
  for (let failures = 0;;) {
    const startedAt = yield* Clock.currentTimeMillis
    yield* run
    const ranForMs = (yield* Clock.currentTimeMillis) - startedAt
    failures = ranForMs > 60_000 ? 0 : failures + 1
    if (failures > 1) yield* Effect.sleep(Math.min(30_000, 1000 * 2 ** (failures - 2)))
  }
})

/** The error for an operator, from the last words of the thread: an error of the file system, of the template, or of PostgreSQL. */
export const explainStart = (cluster: string, problem: string): DatabaseError => {
  if (problem.startsWith("DamagedTemplate: ")) {
    return databaseError("Damaged", problem.replace(/^DamagedTemplate: /, ""))
  }
  if (/\bE[A-Z]{2,}: |No space left/.test(problem)) return DataDirectory.explain(path.dirname(cluster), problem)
  return databaseError(
    "Damaged",
    `The embedded database does not start from ${cluster}: ${problem}. `
      + "Restore a backup of the directory, or move it away to start with an empty one."
  )
}
