import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { capturePrefix, changesPrefix, inTransaction } from "#layers/sql/ChangeRecord.ts"
import { moveTable } from "#layers/sql/Migrations.ts"
import { quote, quoteAll, type Table } from "./Catalog.ts"
import { isAmong, type Key, keyOf, toColumns } from "./RowPages.ts"

/** Changed keys of one step. */
export const maxKeys = 2_000

/**
 * Name of the record of one move, 8 hexadecimal digits.
 *
 * Two moves of one database so have records of their own, and the record of a killed move mixes with no later one.
 */
export type MoveId = string

/** The table with the keys of changed rows. */
const changesOf = (move: MoveId, { name }: Table): string => quote(`${changesPrefix}${move}_${name}`)

const functionOf = (move: MoveId, { name }: Table): string => quote(`${capturePrefix}${move}_${name}`)

/** Triggers of a table, once a statement each: the event, and the rows whose keys are recorded. */
const triggers = [
  { name: "windhover_inserted", event: "insert", rows: "new" },
  { name: "windhover_updated", event: "update", rows: "new" },
  { name: "windhover_replaced", event: "update", rows: "old" },
  { name: "windhover_deleted", event: "delete", rows: "old" }
] as const

const execute = (statement: string) => SqlClient.SqlClient.use((sql) => sql.unsafe(statement).unprepared)

/**
 * Records the keys of all rows that change from now on. `ChangeRecord.forget` ends the record.
 *
 * A statement costs one more insert, and no row is read twice. The tables with the keys are ordinary ones, so that a crash loses no key.
 * Each table has a transaction of its own, because locks on several tables would deadlock with the service.
 */
export const record = Effect.fn("Changes.record")(function*(move: MoveId, tables: ReadonlyArray<Table>) {
  yield* Effect.forEach(tables, (table) => inTransaction(recordTable(move, table)), { discard: true })
})

const recordTable = Effect.fnUntraced(function*(move: MoveId, table: Table) {
  const { keys, name } = table
  const [changes, capture] = [changesOf(move, table), functionOf(move, table)]
  yield* execute(`create table ${changes} as select ${quoteAll(keys)} from ${quote(name)} with no data`)
  yield* execute(
    `create function ${capture}() returns trigger language plpgsql as $$
    begin insert into ${changes} select ${quoteAll(keys)} from changed_rows; return null; end $$`
  )
  for (const trigger of triggers) {
    yield* execute(
      `create trigger ${trigger.name}_${move} after ${trigger.event} on ${quote(name)}
      referencing ${trigger.rows} table as changed_rows for each statement execute function ${capture}()`
    )
  }
})

/** Makes each start of a service on this database fail with the note. `isMoved` is true for the old database of a move. */
export const mark = Effect.fn("Changes.mark")(function*(isMoved: boolean, note: string) {
  const sql = yield* SqlClient.SqlClient
  yield* sql.withTransaction(Effect.gen(function*() {
    yield* execute(`create table ${moveTable} (is_moved boolean not null, note text not null)`)
    yield* sql`insert into ${sql(moveTable)} values (${isMoved}, ${note})`
  }))
})

/** Replaces the note of a marked database. */
export const changeNote = (note: string) =>
  SqlClient.SqlClient.use((sql) => sql`update ${sql(moveTable)} set note = ${note}`)

/** Allows starts. Fails in a database without a mark: another command has then taken the move back. */
export const unmark = execute(`drop table ${moveTable}`)

/** The database of a move that a mark names: the old one, the new one, or undefined without a mark. */
export const readMark = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const [found] = yield* sql<{ exists: boolean }>`select to_regclass(${moveTable}) is not null as exists`
  if (found?.exists !== true) return undefined
  const [mark] = yield* sql<{ moved: boolean }>`select is_moved as moved from ${sql(moveTable)}`
  return mark === undefined ? undefined : mark.moved ? "old" as const : "new" as const
})

/** Waits for a transaction that removes the mark, and keeps others from removing it until the end of this transaction. */
export const lockMark = execute(`lock table ${moveTable} in access exclusive mode`)

/** Recorded keys of a table. A row that has changed twice counts twice. */
export const count = (move: MoveId, table: Table) =>
  SqlClient.SqlClient.use((sql) =>
    Effect.map(
      sql.unsafe<{ count: number }>(`select count(*)::float8 as count from ${changesOf(move, table)}`),
      ([row]) => row?.count ?? 0
    )
  )

/** Takes up to 2,000 recorded keys out of the record. The rows of these keys have to be read afterwards. */
export const take = (move: MoveId, table: Table) =>
  SqlClient.SqlClient.use((sql) =>
    Effect.map(
      sql.unsafe<{ key: Key }>(
        `delete from ${changesOf(move, table)} where ctid = any(array(select ctid from ${
          changesOf(move, table)
        } limit ${maxKeys}))
        returning ${keyOf(table)} as key`
      ),
      (rows) => [...new Map(rows.map(({ key }) => [JSON.stringify(key), key])).values()]
    )
  )

/** Records keys once more. */
export const putBack = (move: MoveId, table: Table, keys: ReadonlyArray<Key>) =>
  keys.length === 0 ? Effect.void : SqlClient.SqlClient.use((sql) =>
    sql.unsafe(
      `insert into ${changesOf(move, table)} select ${
        table.keys.map(({ type }, index) => `k${index}::${type}`).join(", ")
      }
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
