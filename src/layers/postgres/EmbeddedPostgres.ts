import { PgClient } from "@effect/sql-pg"
import { Clock, Deferred, Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import * as path from "node:path"
import { Duplex } from "node:stream"
import { DatabaseError } from "./DatabaseError.ts"
import * as DataDirectory from "./DataDirectory.ts"
import { maintain } from "#layers/postgres/embedded/Maintenance.ts"
import { startThread } from "#layers/postgres/embedded/Thread.ts"
import { maxMessageSize, patchPgClient } from "./PgClientPatches.ts"

/**
 * PostgreSQL inside this process: PGlite in a thread of its own, behind the client that speaks to any server.
 *
 * All connections share one session of one backend, which changes three things: transactions of different connections run
 * one after the other, a statement that runs cannot be cancelled, and an advisory lock excludes nobody in this process.
 * `SqlClient.driver` is `pglite`, by which Effect's cluster storage knows to use leases instead.
 *
 * When the thread dies, statements fail with `ConnectionError` until it is up again: a second or two.
 */
export const layer = (
  options: { readonly directory: string }
): Layer.Layer<PgClient.PgClient | SqlClient.SqlClient, DatabaseError> =>
  Layer.effectDiscard(maintain()).pipe(Layer.provideMerge(PgClient.layerFrom(make(options.directory))))

const make = Effect.fnUntraced(function*(directory: string) {
  const cluster = yield* DataDirectory.open(directory)
  const connect = yield* supervise(cluster)
  const client = yield* PgClient.make({
    stream: connect,
    username: "postgres",
    database: "postgres",
    maxConnections: 8,
    connectTimeout: "1 minute", // a new connection waits behind whatever transaction is open
    maxMessageSize
  }).pipe(Effect.orDie) // it connects at the first statement, not here
  return patchPgClient(client, "pglite")
})

/** Keeps a thread running until the scope closes; returns what opens a connection to the present one. */
const supervise = Effect.fnUntraced(function*(cluster: string) {
  let connect: (() => Duplex) | undefined
  let hasServed = false
  const up = yield* Deferred.make<void, DatabaseError>()

  const run = Effect.gen(function*() {
    // one that has served has gone with its volume: an empty one in its place would be taken for it
    const thread = yield* startThread({ cluster, mayMake: !hasServed })
    hasServed = true
    connect = thread.connect
    yield* Deferred.succeed(up, undefined)
    const why = yield* thread.ended
    connect = undefined
    yield* Effect.logError(`The embedded database has stopped and is started again: ${why}`)
  }).pipe(
    Effect.scoped,
    Effect.catch((why) =>
      Effect.flatMap(
        Deferred.fail(up, notStarted(cluster, why)),
        (first) => first ? Effect.void : Effect.logError(`The embedded database does not start yet: ${why}`)
      )
    )
  )

  yield* Effect.forkScoped(restarting(run), { startImmediately: true })
  yield* Deferred.await(up)
  return () => connect?.() ?? new Duplex().destroy(new Error("The embedded database is being started."))
})

/** Runs it again when it ends: at once, then after 1, 2, 4 … 30 s while it does not hold for a minute. */
const restarting = Effect.fnUntraced(function*(run: Effect.Effect<void>) {
  for (let failures = 0;;) {
    const started = yield* Clock.currentTimeMillis
    yield* run
    const lived = (yield* Clock.currentTimeMillis) - started
    failures = lived > 60_000 ? 0 : failures + 1
    if (failures > 1) yield* Effect.sleep(Math.min(30_000, 1000 * 2 ** (failures - 2)))
  }
})

/** Why a thread did not start, for the operator. Its word is an error of the file system, of the template, or PostgreSQL's own about its files. */
export const notStarted = (cluster: string, why: string): DatabaseError => {
  if (why.startsWith("DamagedTemplate: ")) {
    return new DatabaseError({ reason: "damaged", message: why.replace(/^DamagedTemplate: /, "") })
  }
  if (/\bE[A-Z]{2,}: |No space left/.test(why)) return DataDirectory.explain(path.dirname(cluster), why)
  return new DatabaseError({
    reason: "damaged",
    message: `The embedded database does not start from ${cluster}: ${why}. `
      + "Restore a backup of the directory, or move it away to start with an empty one."
  })
}
