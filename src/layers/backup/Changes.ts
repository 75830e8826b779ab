import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { moveTable } from "#layers/sql/Migrations.ts"
import * as Catalog from "./Catalog.ts"
import { quote, quoteAll, type Table } from "./Catalog.ts"
import { isAmong, type Key, keyOf, toColumns } from "./RowPages.ts"

/** Changed keys of one step. */
const maxKeys = 2_000

/** The table with the keys of changed rows. */
const changesOf = ({ name }: Table): string => quote(`windhover_changes_${name}`)

const functionOf = ({ name }: Table): string => quote(`windhover_capture_${name}`)

/** Triggers of a table, once a statement each: the event, and the rows whose keys are recorded. */
const triggers = [
  { name: "windhover_inserted", event: "insert", rows: "new" },
  { name: "windhover_updated", event: "update", rows: "new" },
  { name: "windhover_replaced", event: "update", rows: "old" },
  { name: "windhover_deleted", event: "delete", rows: "old" }
] as const

const execute = (statement: string) => SqlClient.SqlClient.use((sql) => sql.unsafe(statement).unprepared)

/**
 * Records the keys of all rows that change from now on.
 *
 * A statement costs one more insert, and no row is read twice. The tables with the keys are ordinary ones, so that a crash loses no key.
 * Each table has a transaction of its own, because locks on several tables would deadlock with the service.
 */
export const record = Effect.fn("Changes.record")(function*(tables: ReadonlyArray<Table>) {
  yield* Effect.forEach(tables, (table) => inTransaction(recordTable(table)), { discard: true })
})

/** A lock on a table waits for running transactions, and holds up later ones: 10 s at most. */
const inTransaction = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  SqlClient.SqlClient.use((sql) => sql.withTransaction(Effect.andThen(sql`set local lock_timeout = '10s'`, effect)))

const recordTable = Effect.fnUntraced(function*(table: Table) {
  const { keys, name } = table
  yield* execute(`create table ${changesOf(table)} as select ${quoteAll(keys)} from ${quote(name)} with no data`)
  yield* execute(
    `create function ${functionOf(table)}() returns trigger language plpgsql as $$
    begin insert into ${changesOf(table)} select ${quoteAll(keys)} from changed_rows; return null; end $$`
  )
  for (const trigger of triggers) {
    yield* execute(
      `create trigger ${trigger.name} after ${trigger.event} on ${quote(name)}
      referencing ${trigger.rows} table as changed_rows for each statement execute function ${functionOf(table)}()`
    )
  }
})

/** Removes all that `record` and `mark` have made. A database without these parts stays as it is. */
export const forget = Effect.fn("Changes.forget")(function*() {
  for (const table of yield* Catalog.readTables) {
    yield* inTransaction(Effect.andThen(
      execute(`drop function if exists ${functionOf(table)}() cascade`),
      execute(`drop table if exists ${changesOf(table)}`)
    ))
  }
  yield* execute(`drop table if exists ${moveTable}`)
})

/** Makes each start of a service on this database fail with the note. */
export const mark = Effect.fn("Changes.mark")(function*(isMoved: boolean, note: string) {
  const sql = yield* SqlClient.SqlClient
  yield* sql.withTransaction(Effect.gen(function*() {
    yield* execute(`create table ${moveTable} (is_moved boolean not null, note text not null)`)
    yield* sql`insert into ${sql(moveTable)} values (${isMoved}, ${note})`
  }))
})

export const unmark = execute(`drop table ${moveTable}`)

/** Takes up to 2,000 recorded keys out of the record. The rows of these keys have to be read afterwards. */
export const take = (table: Table) =>
  SqlClient.SqlClient.use((sql) =>
    Effect.map(
      sql.unsafe<{ key: Key }>(
        `delete from ${changesOf(table)} where ctid = any(array(select ctid from ${changesOf(table)} limit ${maxKeys}))
        returning ${keyOf(table)} as key`
      ),
      (rows) => [...new Map(rows.map(({ key }) => [JSON.stringify(key), key])).values()]
    )
  )

/** Records keys once more. */
export const putBack = (table: Table, keys: ReadonlyArray<Key>) =>
  keys.length === 0 ? Effect.void : SqlClient.SqlClient.use((sql) =>
    sql.unsafe(
      `insert into ${changesOf(table)} select ${table.keys.map(({ type }, index) => `k${index}::${type}`).join(", ")}
      from unnest(${table.keys.map((_, index) => `$${index + 1}::text[]`).join(", ")}) k(${
        table.keys.map((_, index) => `k${index}`).join(", ")
      })`,
      toColumns(table, keys)
    )
  )

/** Deletes the rows of keys from the target. */
export const remove = (table: Table, keys: ReadonlyArray<Key>) =>
  SqlClient.SqlClient.use((sql) =>
    sql.unsafe(`delete from ${quote(table.name)} t where ${isAmong(table, "t", 1)}`, toColumns(table, keys))
  )
