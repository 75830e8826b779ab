import { Clock, Context, Effect, Layer, Redacted, Schedule, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import * as fs from "node:fs"
import * as path from "node:path"
import * as DatabaseSocket from "#layers/postgres/DatabaseSocket.ts"
import type { DatabaseError } from "#layers/postgres/DatabaseError.ts"
import * as DataDirectory from "#layers/postgres/DataDirectory.ts"
import { launchAhead } from "#layers/postgres/embedded/Launch.ts"
import * as KeyFile from "#layers/postgres/KeyFile.ts"
import { applicationName } from "#layers/postgres/Postgres.ts"
import { migrate } from "#layers/sql/Migrations.ts"
import { type BackupError, backupError, explainFile } from "./BackupError.ts"
import * as Catalog from "./Catalog.ts"
import * as Changes from "./Changes.ts"
import { catchUp, clear, complete, copyAll, on } from "./Copy.ts"
import { inSnapshot, type Progress } from "./Dump.ts"
import * as Load from "./Load.ts"
import * as Restore from "./Restore.ts"
import * as Source from "./Source.ts"

/** What a move tells and asks while it runs. */
export interface Operator {
  /** Data directory of the service, whose key file a new data directory needs. */
  readonly keyDir: string
  readonly progress: Progress
  /** All rows are copied, and the service has to stop now. The effect may stop the service itself. */
  readonly stopService: Effect.Effect<void, BackupError>
}

/** A completed move. */
export interface Moved {
  readonly rows: number
  /** Changes that were copied while the service stood still. */
  readonly lastChanges: number
  /** From the call for the stop to the end of the move. */
  readonly stoppedMs: number
}

type Failure = BackupError | DatabaseError

/** Rounds of catching up before the stop, at most. */
const maxRounds = 100

/** Changes of a round that are few enough for the stop. */
const fewChanges = 500

/** Time in which a service has to stop. */
const stopTimeout = "30 minutes"

/** The place in words, without a password. */
export const describePlace = (place: Source.Place): string => {
  if (place._tag === "Embedded") return `the data directory ${path.resolve(place.dataDir)}`
  const { host, pathname } = new URL(Redacted.value(place.url))
  return `the PostgreSQL database ${pathname.slice(1)} at ${host}`
}

/**
 * Moves all rows from one database to another while the service runs, and lets the service stand still only for the last changes.
 *
 * Triggers record the keys of changed rows, a snapshot is copied, then the changed rows, until few are left. The old database then refuses
 * starts, the service stops, and the rest is copied. A failure leaves the old database in use, and the new one empty.
 */
export const move = Effect.fn("Move.move")(
  function*(from: Source.Place, to: Source.Place, operator: Operator): Effect.fn.Return<Moved, Failure, Scope.Scope> {
    return to._tag === "Embedded"
      ? yield* Effect.tap(
        Restore.intoDirectory(to.dataDir, SqlClient.SqlClient.use((target) => fill(from, to, target, operator))),
        () => copyKeyFile(operator.keyDir, to.dataDir)
      )
      : yield* SqlClient.SqlClient.use((target) =>
        Effect.andThen(on(target)(Load.requireEmpty(describePlace(to))), fill(from, to, target, operator))
      ).pipe(Effect.provide(Source.layerServer(to.url)))
  }
)

const fill = (from: Source.Place, to: Source.Place, target: SqlClient.SqlClient, operator: Operator) =>
  Effect.scoped(Effect.gen(function*() {
    const isRunning = from._tag === "Server" || (yield* DatabaseSocket.isServed(from.dataDir))
    const live = yield* openClient(
      from._tag === "Embedded" && isRunning ? Source.layerRunning(from.dataDir) : Source.layer(from)
    )
    yield* on(live)(requireCurrentSchema)
    const tables = yield* on(live)(Catalog.readTables)
    const prepared = yield* prepareTarget(target, tables, describePlace(from))
    const move: Running = {
      from,
      to,
      isRunning,
      live,
      target,
      tables,
      definitions: prepared.definitions,
      operator,
      source: live
    }
    const moved = yield* run(move).pipe(Effect.onError(() => Effect.ignore(on(move.source)(Changes.forget()))))
    prepared.keep()
    yield* on(target)(Load.validateForeignKeys(prepared.definitions))
    return moved
  })).pipe(Effect.catchTag("SqlError", (error) => Effect.fail(Load.explainTarget(error))))

/** A move that has begun. */
interface Running {
  readonly from: Source.Place
  readonly to: Source.Place
  /** False for an embedded database that no service uses. */
  readonly isRunning: boolean
  /** The source while the service runs. */
  readonly live: SqlClient.SqlClient
  /** The source at present: `live`, and another client after the service has stopped. */
  source: SqlClient.SqlClient
  readonly target: SqlClient.SqlClient
  readonly tables: ReadonlyArray<Catalog.Table>
  readonly definitions: Load.Definitions
  readonly operator: Operator
}

const run = Effect.fnUntraced(function*(move: Running) {
  const { definitions, from, isRunning, live, operator, tables, target, to } = move
  yield* on(live)(Effect.andThen(Changes.forget(), Changes.record(tables)))
  const rows = yield* copySnapshot(from, isRunning ? undefined : live, target, tables, operator)
  yield* target.withTransaction(on(target)(Load.index(tables, definitions)))
  yield* Effect.repeat(catchUp({ source: live, target }, tables), {
    until: (count) => count <= fewChanges,
    times: maxRounds
  })

  yield* on(live)(Changes.mark(true, movedNote(to)))
  const stoppedAt = yield* Clock.currentTimeMillis
  if (isRunning) {
    if (from._tag === "Embedded") launchAhead()
    yield* operator.stopService
    if (from._tag === "Embedded") move.source = yield* takeOver(from.dataDir)
    else yield* awaitRunners(live)
  }
  const lastChanges = yield* complete({ source: move.source, target }, tables, definitions)
  const stoppedMs = (yield* Clock.currentTimeMillis) - stoppedAt
  return { rows, lastChanges, stoppedMs } satisfies Moved
})

const openClient = <E>(layer: Layer.Layer<SqlClient.SqlClient, E>) =>
  Effect.map(Layer.build(layer), (services) => Context.get(services, SqlClient.SqlClient))

const requireCurrentSchema = Effect.gen(function*() {
  const schema = yield* Catalog.readSchemaVersion
  if (schema === Load.newestSchema) return
  return yield* backupError(
    "Foreign",
    schema === undefined
      ? "The database holds no data of Windhover, so there is nothing to move."
      : `The database has schema ${schema}, and this version ${Load.newestSchema}. Start this version of the service on it once, or run 'windhover migrate'.`
  )
})

/**
 * Creates the schema without indexes. The target is emptied again unless `keep` is called.
 *
 * A failed transaction leaves nothing to remove, and the tables that another move has created meanwhile stay.
 */
const prepareTarget = Effect.fnUntraced(
  function*(target: SqlClient.SqlClient, tables: ReadonlyArray<Catalog.Table>, origin: string) {
    let isComplete = false
    const definitions = yield* Effect.acquireRelease(
      target.withTransaction(
        on(target)(Effect.gen(function*() {
          yield* migrate
          yield* Changes.mark(
            false,
            `The rows of ${origin} are being moved into this database. Wait for the end of 'windhover move'.`
          )
          return yield* Load.strip(tables)
        }))
      ),
      () => isComplete ? Effect.void : Effect.ignore(on(target)(clear))
    )
    return { definitions, keep: () => void (isComplete = true) }
  }
)

const movedNote = (to: Source.Place) =>
  `This database was moved to ${describePlace(to)}, and gets no more news. Start Windhover there: ${
    to._tag === "Server" ? "set WINDHOVER_DATABASE_URL" : "unset WINDHOVER_DATABASE_URL, and set WINDHOVER_DATA_DIR"
  }. To use this old one nevertheless, run 'windhover move --cancel'.`

/** Copies what a clone, a second client of a server, or a stopped database shows. */
const copySnapshot = (
  from: Source.Place,
  stopped: SqlClient.SqlClient | undefined,
  target: SqlClient.SqlClient,
  tables: ReadonlyArray<Catalog.Table>,
  { progress }: Operator
) =>
  Effect.scoped(Effect.gen(function*() {
    const source = stopped ?? (yield* openClient(Source.layer(from)))
    const copy = copyAll({ source, target }, tables, progress)
    return yield* target.withTransaction(from._tag === "Server" ? on(source)(inSnapshot(copy)) : copy)
  }))

const patience = Schedule.spaced("100 millis").pipe(Schedule.upTo({ duration: stopTimeout }))

/** Opens the embedded database of a service that is stopping, as soon as it has stopped. */
const takeOver = Effect.fnUntraced(function*(dataDir: string) {
  const cluster = yield* Effect.retry(DataDirectory.open(dataDir), {
    while: ({ reason }) => reason._tag === "Locked",
    schedule: patience
  })
  return yield* openClient(Source.layerCluster(cluster))
})

/** Waits until no runner of the service is connected to the server. */
const awaitRunners = Effect.fnUntraced(function*(sql: SqlClient.SqlClient) {
  const runners = sql<{ count: number }>`
    select count(*)::int as count from pg_stat_activity
    where datname = current_database() and application_name = ${applicationName}`
  const count = yield* Effect.repeat(
    Effect.map(runners, ([row]) => row?.count ?? 0),
    { until: (count) => count === 0, schedule: patience }
  )
  if (count !== 0) {
    return yield* backupError(
      "Running",
      `The service has not stopped within ${stopTimeout}, and the move was taken back.`
    )
  }
})

/** The secrets of a server's database open with the key file of the old data directory, which stays where it is. */
const copyKeyFile = (keyDir: string, dataDir: string) =>
  Effect.suspend(() =>
    fs.existsSync(KeyFile.pathIn(dataDir)) || !fs.existsSync(KeyFile.pathIn(keyDir))
      ? Effect.void
      : Effect.try({
        try: () => fs.copyFileSync(KeyFile.pathIn(keyDir), KeyFile.pathIn(dataDir), fs.constants.COPYFILE_EXCL),
        catch: (cause) => explainFile(KeyFile.pathIn(dataDir), cause)
      })
  )

/** Takes the marks of a move out of a database, so that it can be used again. */
export const cancel = Effect.fn("Move.cancel")(function*(place: Source.Place) {
  const isRunning = place._tag === "Embedded" && (yield* DatabaseSocket.isServed(place.dataDir))
  const layer = isRunning ? Source.layerRunning(place.dataDir) : Source.layer(place)
  yield* Changes.forget().pipe(
    Effect.mapError((error) => Load.explainTarget(error)),
    Effect.provide(layer)
  )
})
