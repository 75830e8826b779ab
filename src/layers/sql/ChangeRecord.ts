import { Context, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { describe } from "./Query.ts"

/** The tables of changed keys, and the functions of the triggers that fill these. The id of the move and the name of a table follow. */
export const changesPrefix = "windhover_changes_"
export const capturePrefix = "windhover_capture_"

/** Advisory locks of this class, by the ids of moves. "WHMV" in ASCII. */
const lockClass = 0x57_48_4d_56

/**
 * Tells whether a command is connected to the embedded database. Undefined on a server.
 *
 * All connections of the embedded database share one session, whose locks outlive a connection.
 */
export const HasCommand = Context.Reference<(() => boolean) | undefined>(
  "windhover/layers/sql/ChangeRecord/HasCommand",
  {
    defaultValue: () => undefined
  }
)

/**
 * Shows until the scope closes that the command of a move lives: by a connection, and on a server by a lock of its session.
 *
 * The record of the move begins after the lock, so that a record without a lock is abandoned.
 */
export const hold = Effect.fn("ChangeRecord.hold")(function*(move: string, place: "embedded" | "server") {
  const sql = yield* SqlClient.SqlClient
  const connection = yield* sql.reserve
  yield* place === "server"
    ? connection.executeRaw(`select pg_advisory_lock($1::int4, $2::int4)`, [lockClass, Number.parseInt(move, 16) | 0])
    : connection.executeRaw(`select 1`, [])
})

/** A lock on a table waits for running transactions, and holds up later ones: 10 s at most. */
export const inTransaction = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  SqlClient.SqlClient.use((sql) => sql.withTransaction(Effect.andThen(sql`set local lock_timeout = '10s'`, effect)))

/**
 * Removes the triggers and tables by which a move records changed keys, those of all moves by default. Returns false when there are none.
 *
 * Each table has a transaction of its own, because locks on several tables would deadlock with the service.
 */
export const forget = Effect.fn("ChangeRecord.forget")(function*(move = "") {
  const sql = yield* SqlClient.SqlClient
  const functions = yield* sql<{ name: string }>`
    select proname::text as name from pg_proc
    where pronamespace = current_schema()::regnamespace and starts_with(proname::text, ${capturePrefix + move})`
  for (const { name } of functions) {
    const table = changesPrefix + name.slice(capturePrefix.length)
    yield* inTransaction(Effect.andThen(
      sql`drop function if exists ${sql(name)}() cascade`,
      sql`drop table if exists ${sql(table)}`
    ))
  }
  return functions.length > 0
})

/** Moves with a record whose command has gone. An id has 8 hexadecimal digits. */
const findAbandoned = SqlClient.SqlClient.use((sql) =>
  Effect.map(
    sql<{ move: string }>`
      select distinct m.move from (
        select substring(proname::text from ${capturePrefix.length + 1} for 8) as move from pg_proc
        where pronamespace = current_schema()::regnamespace and starts_with(proname::text, ${capturePrefix})
      ) m where not exists (
        select from pg_locks where locktype = 'advisory' and granted
          and database = (select oid from pg_database where datname = current_database())
          and classid = ${BigInt(lockClass)}::int8::oid and objid = ('x' || m.move)::bit(32)::int8::oid and objsubid = 2
      )`,
    (rows) => rows.map(({ move }) => move)
  )
)

/** Removes the records of killed moves, because their triggers would slow down each statement. */
export const forgetAbandoned = Effect.gen(function*() {
  const hasCommand = yield* HasCommand
  const abandoned = yield* findAbandoned
  if (hasCommand?.() === true) return // read last: a command that has connected meanwhile may have recorded its move
  for (const move of abandoned) yield* forgetOrWarn(move)
}).pipe(Effect.catchTag("SqlError", () => Effect.void)) // the database is away, of which its liveness warns

const forgetOrWarn = (move: string) =>
  Effect.gen(function*() {
    if (!(yield* forget(move))) return
    yield* Effect.logWarning(
      "An earlier 'windhover move' from this database did not complete. Its triggers and tables were removed; run the command again."
    )
  }).pipe(Effect.catchTag("SqlError", (error) =>
    Effect.logWarning(
      "An earlier 'windhover move' from this database did not complete. The removal of its triggers failed, and is tried again within a minute. 'windhover move --cancel' removes these too."
    ).pipe(Effect.annotateLogs({ error: describe(error) }))))
