import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { describe } from "./Query.ts"

/** The tables of changed keys, and the functions of the triggers that fill these. The id of the move and the name of a table follow. */
export const changesPrefix = "windhover_changes_"
export const capturePrefix = "windhover_capture_"

/** Application name of commands on a server. */
export const commandName = "windhover-command"

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

/**
 * Removes the record of a move that was killed, because its triggers would slow down each statement.
 *
 * On a server, a connected command may be the move itself, so that the record stays.
 */
export const forgetAbandoned = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const [found] = yield* sql<{ recorded: boolean }>`
    select exists (select from pg_proc where pronamespace = current_schema()::regnamespace
      and starts_with(proname::text, ${capturePrefix})) as recorded`
  if (found?.recorded !== true) return
  const [command] = yield* sql<{ connected: boolean }>`
    select exists (select from pg_stat_activity
      where datname = current_database() and application_name = ${commandName}) as connected`
  if (command?.connected === true) return
  yield* forget()
  yield* Effect.logWarning(
    "An earlier 'windhover move' from this database did not complete. Its triggers and tables were removed; run the command again."
  )
}).pipe(Effect.catchTag("SqlError", (error) =>
  Effect.logWarning(
    "An earlier 'windhover move' from this database did not complete. Remove its triggers and tables with 'windhover move --cancel'."
  ).pipe(Effect.annotateLogs({ error: describe(error) }))))
