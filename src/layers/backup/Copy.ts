import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { moveTable } from "#layers/sql/Migrations.ts"
import { backupError } from "./BackupError.ts"
import * as Catalog from "./Catalog.ts"
import { quote, type Table } from "./Catalog.ts"
import * as Changes from "./Changes.ts"
import type { Progress } from "./Dump.ts"
import * as Load from "./Load.ts"
import { forEachPage, type Key, keyOf } from "./RowPages.ts"

/** The two databases of a move. */
export interface Databases {
  readonly source: SqlClient.SqlClient
  readonly target: SqlClient.SqlClient
}

/** The databases while the source records its changes. */
export interface RecordedDatabases extends Databases {
  readonly move: Changes.MoveId
}

type OnDatabase = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, Exclude<R, SqlClient.SqlClient>>

/** Runs an effect on one of the databases. */
export const on = (sql: SqlClient.SqlClient): OnDatabase => Effect.provideService(SqlClient.SqlClient, sql)

/** Copies all rows of a snapshot into an empty schema without indexes. */
export const copyAll = Effect.fn("Copy.copyAll")(
  function*({ source, target }: Databases, tables: ReadonlyArray<Table>, progress: Progress) {
    const counts = yield* on(source)(Effect.forEach(tables, Catalog.countRows))
    const total = counts.reduce((sum, count) => sum + count, 0)
    let done = 0
    for (const table of tables) {
      yield* on(source)(forEachPage(table, (page) =>
        Effect.andThen(
          on(target)(Load.insert(table, page)),
          Effect.sync(() => {
            done += page.rows.length
            progress(done, total)
          })
        )))
    }
    return done
  }
)

/**
 * Copies the rows whose changes are recorded now, and returns their number. Changes of the meantime are left to the next round.
 *
 * The service goes on, so that rows are read at different moments. A row can so collide in a unique index with an older state of another row:
 * its key is put back, and the next round copies the row.
 */
export const catchUp = Effect.fn("Copy.catchUp")(
  function*({ move, source, target }: RecordedDatabases, tables: ReadonlyArray<Table>) {
    let copied = 0
    for (const table of tables) {
      for (let left = yield* on(source)(Changes.count(move, table)); left > 0; left -= Changes.maxKeys) {
        copied += yield* copyStep({ move, source, target }, table)
      }
    }
    return copied
  }
)

const copyStep = Effect.fnUntraced(function*({ move, source, target }: RecordedDatabases, table: Table) {
  const keys = yield* on(source)(Changes.take(move, table))
  if (keys.length === 0) return 0
  yield* on(target)(Changes.remove(table, keys))
  yield* on(source)(forEachPage(table, (page) =>
    Effect.flatMap(
      on(target)(insertFree(table, page.rows)),
      (skipped) => on(source)(Changes.putBack(move, table, skipped))
    ), keys))
  return keys.length
})

/** Inserts rows unless they collide, and returns the keys of those that do. */
const insertFree = (table: Table, rows: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const inserted = yield* Load.insert(
      table,
      { table: table.name, rows },
      `on conflict do nothing returning ${keyOf(table)} as key`
    )
    if (inserted.length === rows.length) return []
    const all = yield* sql.unsafe<{ key: Key }>(
      `select ${keyOf(table, "(v.r).")} as key from (select text_::${
        quote(table.name)
      } as r from unnest($1::text[]) text_ offset 0) v`,
      [rows]
    )
    const done = new Set(inserted.map(({ key }) => JSON.stringify(key)))
    return all.flatMap(({ key }) => done.has(JSON.stringify(key)) ? [] : [key])
  })

/**
 * Copies the last changes of a source that no service writes any more, in one transaction of the target, and returns their number.
 *
 * All changed rows are removed before the first one is inserted, so that none collides. Counts of all rows prove that none is missing.
 */
export const complete = Effect.fn("Copy.complete")(
  function*(databases: RecordedDatabases, tables: ReadonlyArray<Table>, definitions: Load.Definitions) {
    const { move, source, target } = databases
    return yield* target.withTransaction(Effect.gen(function*() {
      const changed: Array<readonly [Table, ReadonlyArray<Key>]> = []
      for (const table of tables) {
        for (
          let keys = yield* on(source)(Changes.take(move, table));
          keys.length > 0;
          keys = yield* on(source)(Changes.take(move, table))
        ) {
          yield* on(target)(Changes.remove(table, keys))
          changed.push([table, keys])
        }
      }
      for (const [table, keys] of uniqueKeys(changed)) {
        yield* on(source)(forEachPage(table, (page) => on(target)(Effect.asVoid(Load.insert(table, page))), keys))
      }
      yield* on(target)(Load.setSequences(yield* on(source)(Catalog.readSequences)))
      yield* compareCounts(databases, tables)
      yield* on(target)(Load.addForeignKeys(definitions))
      yield* on(target)(Changes.unmark)
      return changed.reduce((sum, [, keys]) => sum + keys.length, 0)
    }))
  }
)

/** A key can be taken twice, in two steps: its row is inserted with the first one. */
const uniqueKeys = (changed: ReadonlyArray<readonly [Table, ReadonlyArray<Key>]>) => {
  const seen = new Set<string>()
  return changed.map(([table, keys]) =>
    [
      table,
      keys.filter((key) => {
        const text = JSON.stringify([table.name, key])
        return !seen.has(text) && seen.add(text)
      })
    ] as const
  )
}

const compareCounts = Effect.fnUntraced(function*({ source, target }: Databases, tables: ReadonlyArray<Table>) {
  for (const table of tables) {
    const [expected, found] = yield* Effect.all([
      on(source)(Catalog.countRows(table)),
      on(target)(Catalog.countRows(table))
    ], {
      concurrency: 2
    })
    if (expected === found) continue
    return yield* backupError(
      "Changed",
      `${table.name} has ${expected} rows in the old database and ${found} in the new one. The old database stays in use; try again.`
    )
  }
})

/**
 * Empties a database that a move has begun to fill.
 *
 * A complete database has no mark, so that this fails there, also when the move completes at the same time.
 */
export const clear: Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient> = SqlClient.SqlClient.use((sql) =>
  sql.withTransaction(Effect.gen(function*() {
    yield* Changes.lockMark
    const tables = [...Catalog.tableNames, "windhover_migrations", moveTable]
    yield* sql.unsafe(`drop table if exists ${tables.map(quote).join(", ")} cascade`).unprepared
    yield* sql`drop sequence if exists log_positions`
  }))
)
