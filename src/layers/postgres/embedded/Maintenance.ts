import { Effect, Schedule } from "effect"
import { SqlClient } from "effect/sql"

export interface MaintenanceOptions {
  /** Write-ahead log between two checkpoints, bytes: what a start after a crash has to read again. */
  readonly checkpointEvery: number
  /** Transactions after which a table is frozen; PostgreSQL refuses to go on near 2,000 million. */
  readonly freezeAfter: number
}

const usual: MaintenanceOptions = { checkpointEvery: 64 * 1024 * 1024, freezeAfter: 100_000_000 }

/**
 * Does what a server has processes for, until the scope closes: checkpoints, vacuum, and freezing of old transaction ids.
 *
 * Everything waits while one of them runs, so at most one table is vacuumed a minute, the worst first.
 */
export const maintain = Effect.fnUntraced(function*({ checkpointEvery, freezeAfter }: MaintenanceOptions = usual) {
  const sql = yield* SqlClient.SqlClient
  let checkpointed = 0

  const checkpoint = Effect.gen(function*() {
    const [log] = yield* sql<{ written: number }>`
      select (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::float8 as written`
    if (log === undefined || log.written - checkpointed < checkpointEvery) return
    yield* sql`checkpoint`
    checkpointed = log.written
  })

  const vacuum = Effect.gen(function*() {
    const [worst] = yield* sql<{ name: string }>`
      select relid::regclass::text as name from pg_stat_user_tables
      where n_dead_tup > 1000 and n_dead_tup > 0.2 * n_live_tup
      order by n_dead_tup desc limit 1`
    if (worst !== undefined) yield* sql.unsafe(`vacuum (analyze) ${worst.name}`).unprepared
  })

  const freeze = Effect.gen(function*() {
    const [oldest] = yield* sql<{ name: string }>`
      select oid::regclass::text as name from pg_class
      where relkind in ('r', 'm', 't') and age(relfrozenxid) > ${freezeAfter}::int
      order by age(relfrozenxid) desc limit 1`
    if (oldest !== undefined) yield* sql.unsafe(`vacuum (freeze) ${oldest.name}`).unprepared
  })

  yield* repeatedly(checkpoint, "5 seconds")
  yield* repeatedly(Effect.andThen(vacuum, freeze), "1 minute")
})

/** A failure is told and tried again the next time. */
const repeatedly = <E>(task: Effect.Effect<void, E>, interval: "5 seconds" | "1 minute") =>
  task.pipe(
    Effect.catchCause((cause) => Effect.logWarning("Maintenance of the embedded database failed.", cause)),
    Effect.repeat(Schedule.spaced(interval)),
    Effect.delay(interval),
    Effect.forkScoped
  )
