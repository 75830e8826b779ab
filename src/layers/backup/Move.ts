import { Clock, Context, Effect, Layer, Redacted, Schedule, Scope } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { randomBytes } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import * as DatabaseSocket from "#layers/postgres/DatabaseSocket.ts"
import type { DatabaseError } from "#layers/postgres/DatabaseError.ts"
import * as DataDirectory from "#layers/postgres/DataDirectory.ts"
import { launchAhead } from "#layers/postgres/embedded/Launch.ts"
import * as KeyFile from "#layers/postgres/KeyFile.ts"
import { applicationName } from "#layers/postgres/Postgres.ts"
import { forget, hold } from "#layers/sql/ChangeRecord.ts"
import { migrate } from "#layers/sql/Migrations.ts"
import { sqlState } from "#layers/sql/Query.ts"
import { type BackupError, backupError } from "./BackupError.ts"
import * as Catalog from "./Catalog.ts"
import * as Changes from "./Changes.ts"
import { catchUp, clear, complete, copyAll, on } from "./Copy.ts"
import * as CatchUpRounds from "./CatchUpRounds.ts"
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
  function*(
    from: Source.Place,
    to: Source.Place,
    operator: Operator
  ): Effect.fn.Return<Moved, Failure | SqlError.SqlError, Scope.Scope> {
    const running = yield* begin(from, to, operator)
    const moved = to._tag === "Embedded"
      ? yield* toDirectory(running, to.dataDir)
      : yield* Effect.provide(toServer(running), Source.layerServer(to.url))
    yield* Effect.ignore(on(running.source)(Changes.changeNote(movedNote(to))))
    return moved
  },
  Effect.catchTag(
    "SqlError",
    (error) => Effect.fail(sqlState(error) === undefinedTable ? recordLost(error) : Load.explainTarget(error))
  )
)

/** State of PostgreSQL: a table does not exist. Only the record of changes can vanish during a move. */
const undefinedTable = "42P01"

const recordLost = (cause: SqlError.SqlError) =>
  backupError(
    "Changed",
    "The record of this move is gone: its connection was lost, or another command ended the move. The old database stays in use, and the new one empty. Run the command again, and one 'windhover move' at a time.",
    cause
  )

/** A move that has begun. */
interface Running {
  readonly id: Changes.MoveId
  readonly from: Source.Place
  readonly to: Source.Place
  /** False for an embedded database that no service uses. */
  readonly isRunning: boolean
  /** The source while the service runs. */
  readonly live: SqlClient.SqlClient
  /** The source at present: `live`, and another client after the service has stopped. */
  source: SqlClient.SqlClient
  /** True while the old database refuses starts. */
  isMarked: boolean
  /** True after the last transaction of the target. */
  isCommitted: boolean
  readonly tables: ReadonlyArray<Catalog.Table>
  readonly operator: Operator
  /** Lives as long as the clients of the source. */
  readonly scope: Scope.Scope
}

const begin = Effect.fnUntraced(function*(from: Source.Place, to: Source.Place, operator: Operator) {
  const isRunning = from._tag === "Server" || (yield* DatabaseSocket.isServed(from.dataDir))
  const live = yield* openClient(
    from._tag === "Embedded" && isRunning ? Source.layerRunning(from.dataDir) : Source.layer(from)
  )
  yield* on(live)(Effect.andThen(requireCurrentSchema, refuseMarked))
  return {
    id: randomBytes(4).toString("hex"),
    from,
    to,
    isRunning,
    live,
    source: live,
    isMarked: false,
    isCommitted: false,
    tables: yield* on(live)(Catalog.readTables),
    operator,
    scope: yield* Effect.scope
  } satisfies Running
})

/** The directory gets its database and the key of its secrets after the last step that can fail. */
const toDirectory = (move: Running, dataDir: string) =>
  Restore.intoDirectory(
    dataDir,
    Effect.scoped(Effect.gen(function*() {
      const target = yield* SqlClient.SqlClient
      const { definitions, moved } = yield* fill(move, target)
      yield* on(target)(Load.validateForeignKeys(definitions))
      return moved
    })),
    KeyFile.copy(move.operator.keyDir, dataDir)
  ).pipe(takeBackOnError(move))

const toServer = (move: Running) =>
  Effect.scoped(Effect.gen(function*() {
    const target = yield* SqlClient.SqlClient
    yield* on(target)(Load.requireEmpty(describePlace(move.to)))
    const { definitions, moved } = yield* takeBackOnError(move)(fill(move, target))
    yield* on(target)(Load.validateForeignKeys(definitions))
    return moved
  }))

/** True when the new database can be used: the old one must stay marked then, even after an interruption at the very end. */
const isComplete = ({ isCommitted, to }: Running): boolean =>
  to._tag === "Server" ? isCommitted : fs.existsSync(path.join(to.dataDir, "database", "PG_VERSION"))

/** Makes the old database as it was before the move. The service may have crashed, so that its socket does not lead there any more. */
const takeBackOnError = (move: Running) => <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.onError(effect, () => {
    if (isComplete(move)) return Effect.void
    const remove = Effect.andThen(forget(move.id), move.isMarked ? Changes.unmark : Effect.void)
    return on(move.source)(remove).pipe(
      Effect.catchCause(() => cancelOld(move.from)),
      Effect.catchCause(() =>
        Effect.logError("The old database still refuses starts. 'windhover move --cancel' makes it usable again.")
      )
    )
  })

const fill = Effect.fnUntraced(function*(move: Running, target: SqlClient.SqlClient) {
  const prepared = yield* prepareTarget(target, move.tables, describePlace(move.from))
  const moved = yield* copy(move, target, prepared.definitions)
  prepared.keep()
  return { definitions: prepared.definitions, moved }
})

const copy = Effect.fnUntraced(function*(move: Running, target: SqlClient.SqlClient, definitions: Load.Definitions) {
  const { from, id, isRunning, live, operator, scope, tables, to } = move
  if (yield* on(live)(forget())) {
    yield* Effect.logWarning(
      "An earlier 'windhover move' from this database did not complete. Its triggers were removed."
    )
  }
  // A stopped embedded database has one connection and no service.
  if (isRunning) yield* Scope.provide(on(live)(hold(id, from._tag === "Server" ? "server" : "embedded")), scope)
  yield* on(live)(Changes.record(id, tables))
  const rows = yield* copySnapshot(from, isRunning ? undefined : live, target, tables, operator)
  yield* target.withTransaction(on(target)(Load.index(tables, definitions)))
  const isOver = CatchUpRounds.make()
  yield* Effect.repeat(catchUp({ move: id, source: live, target }, tables), { until: isOver })

  yield* on(live)(Changes.mark(true, movingNote(to))).pipe(
    Effect.tap(() => Effect.sync(() => move.isMarked = true)),
    Effect.uninterruptible
  )
  const stoppedAt = yield* Clock.currentTimeMillis
  if (isRunning) {
    if (from._tag === "Embedded") launchAhead()
    yield* operator.stopService
    if (from._tag === "Embedded") move.source = yield* Scope.provide(takeOver(from.dataDir), scope)
    else yield* awaitRunners(live)
  }
  const lastChanges = yield* complete({ move: id, source: move.source, target }, tables, definitions).pipe(
    Effect.tap(() => Effect.sync(() => move.isCommitted = true)),
    Effect.uninterruptible
  )
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

const refuseMarked = Effect.gen(function*() {
  const mark = yield* Changes.readMark
  if (mark === undefined) return
  return yield* backupError(
    "Running",
    mark === "old"
      ? "The database was moved already, or another 'windhover move' has stopped it. If that command was killed, run 'windhover move --cancel', then move again."
      : "The database holds a part of the rows of another move. Wait for its end; if it was killed, run 'windhover move --cancel'."
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
            `The rows of ${origin} are being moved into this database. Wait for the end of 'windhover move'; if it was killed, run 'windhover move --cancel'.`
          )
          return yield* Load.strip(tables)
        }))
      ),
      () => isComplete ? Effect.void : Effect.ignore(on(target)(clear))
    )
    return { definitions, keep: () => void (isComplete = true) }
  }
)

const howToStart = (to: Source.Place) =>
  to._tag === "Server" ? "set WINDHOVER_DATABASE_URL" : "unset WINDHOVER_DATABASE_URL, and set WINDHOVER_DATA_DIR"

const movedNote = (to: Source.Place) =>
  `This database was moved to ${describePlace(to)}, and gets no more news. Start Windhover there: ${
    howToStart(to)
  }. To use this old one nevertheless, run 'windhover move --cancel'.`

/** The note until the move is complete. A killed command leaves this note. */
const movingNote = (to: Source.Place) =>
  `'windhover move' is moving the last rows of this database to ${
    describePlace(to)
  }. Wait for its end, and start Windhover there: ${
    howToStart(to)
  }. If the command was killed, run 'windhover move --cancel' to use this database again.`

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

/** Takes the marks of a move out of its old database, so that it can be used again. */
const cancelOld = (place: Source.Place) =>
  Effect.gen(function*() {
    const isRunning = place._tag === "Embedded" && (yield* DatabaseSocket.isServed(place.dataDir))
    const remove = Effect.gen(function*() {
      const isRecorded = yield* forget()
      const isMarked = (yield* Changes.readMark) === "old"
      if (isMarked) yield* Changes.unmark
      return isRecorded || isMarked
    })
    return yield* Effect.provide(remove, isRunning ? Source.layerRunning(place.dataDir) : Source.layer(place))
  })

/** True for a server whose database a move has begun to fill, and has not completed. */
export const isUnfinished = (place: Source.Place) =>
  place._tag === "Embedded"
    ? Effect.succeed(false)
    : Changes.readMark.pipe(
      Effect.provide(Source.layer(place)),
      Effect.mapBoth({
        onFailure: (error) => error._tag === "SqlError" ? Load.explainTarget(error) : error,
        onSuccess: (mark) => mark === "new"
      })
    )

/** A database that `cancel` has changed: the old one of the move is `usable` again, and the new one is `empty`. */
export interface Cancelled {
  readonly place: Source.Place
  readonly state: "usable" | "empty"
}

/**
 * Takes a killed move back, and returns the databases that were changed. `target` is emptied unless the move was complete.
 *
 * With a cleared target, `old` may be missing: the settings name the data directory of another old database then.
 */
export const cancel = Effect.fn("Move.cancel")(
  function*(
    old: Source.Place,
    target: Source.Place | undefined
  ): Effect.fn.Return<ReadonlyArray<Cancelled>, Failure | SqlError.SqlError> {
    const isCleared = target !== undefined && (yield* isUnfinished(target))
    if (isCleared) yield* Effect.provide(clear, Source.layer(target))
    const isUsable = yield* cancelOld(old).pipe(
      Effect.catchIf(
        (error) => isCleared && error._tag === "DatabaseError" && error.reason._tag === "Missing",
        () => Effect.succeed(false)
      )
    )
    return [
      ...isCleared ? [{ place: target, state: "empty" } as const] : [],
      ...isUsable ? [{ place: old, state: "usable" } as const] : []
    ]
  },
  Effect.catchTag("SqlError", (error) => Effect.fail(Load.explainTarget(error)))
)
