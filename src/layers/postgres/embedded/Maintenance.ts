import { Effect, Schedule } from "effect"
import { SqlClient } from "effect/sql"

export interface MaintenanceOptions {
  /** Makes a checkpoint, and ends when it is on disk. */
  readonly checkpoint: Effect.Effect<void, string>
  /** Bytes of write-ahead log between two checkpoints. A start after a crash reads these again, 60 MB a second. */
  readonly checkpointBytes?: number
  /** Age in transactions at which a table is frozen. PostgreSQL stops near 2,000 million. */
  readonly freezeAge?: number
  /** True while a command copies the files of the cluster. Checkpoints wait, up to 8 times their usual distance. */
  readonly isCopied?: () => boolean
}

const defaults = {
  checkpointBytes: 128 * 1024 * 1024,
  freezeAge: 100_000_000,
  isCopied: () => false
}

/**
 * Runs checkpoints, vacuums and analyzes tables, freezes old transaction ids, syncs commits that did not wait for the disk, and discards plans, until the scope
 * closes. A server has processes for these.
 *
 * All statements wait for each of these, except for the syncs of a checkpoint. So one table per minute is vacuumed, the one with most dead rows, and analyzed by a statement of
 * its own.
 */
export const maintain = Effect.fnUntraced(function*(options: MaintenanceOptions) {
  const { checkpoint, checkpointBytes, freezeAge, isCopied } = { ...defaults, ...options }
  const sql = yield* SqlClient.SqlClient
  let checkpointed = 0

  const syncLog = Effect.gen(function*() {
    const [log] = yield* sql<{ unsynced: boolean }>`
      select pg_current_wal_insert_lsn() > pg_current_wal_flush_lsn() as unsynced`
    if (log?.unsynced === true) yield* sql`select pg_logical_emit_message(false, 'windhover', '', true)::text`
  })

  const checkpointAfterLog = Effect.gen(function*() {
    const [log] = yield* sql<{ written: number }>`
      select (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::float8 as written`
    if (log === undefined || log.written - checkpointed < checkpointBytes * (isCopied() ? 8 : 1)) return
    yield* checkpoint
    checkpointed = log.written
  })

  const vacuum = Effect.gen(function*() {
    const [worst] = yield* sql<{ name: string }>`
      select c.oid::regclass::text as name
      from pg_class c cross join lateral (
        select pg_stat_get_dead_tuples(c.oid) as dead, pg_stat_get_live_tuples(c.oid) as live offset 0
      ) rows
      where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace and dead > 1000 and dead > 0.2 * live
      order by dead desc limit 1`
    if (worst === undefined) return
    yield* sql.unsafe(`vacuum ${worst.name}`).unprepared
    yield* sql.unsafe(`analyze ${worst.name}`).unprepared
  })

  const freeze = Effect.gen(function*() {
    const [oldest] = yield* sql<{ name: string }>`
      select oid::regclass::text as name from pg_class
      where relkind in ('r', 'm', 't') and age(relfrozenxid) > ${freezeAge}::int
      order by age(relfrozenxid) desc limit 1`
    if (oldest !== undefined) yield* sql.unsafe(`vacuum (freeze) ${oldest.name}`).unprepared
  })

  /** Kept plans may be of a time when the tables were small. A server would have analyzed its grown tables, which ends plans, too. */
  const discardPlans = sql`discard plans`

  yield* repeatTask(syncLog, "5 seconds")
  yield* repeatTask(checkpointAfterLog, "5 seconds")
  yield* repeatTask(Effect.andThen(Effect.andThen(vacuum, freeze), discardPlans), "1 minute")
})

/** Logs a failure and retries at the next interval. */
const repeatTask = <E>(task: Effect.Effect<void, E>, interval: "5 seconds" | "1 minute") =>
  task.pipe(
    Effect.catchCause((cause) => Effect.logWarning("Maintenance of the embedded database failed.", cause)),
    Effect.repeat(Schedule.spaced(interval)),
    Effect.delay(interval),
    Effect.forkScoped
  )
