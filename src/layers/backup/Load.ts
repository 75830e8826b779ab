import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { makeMigrate, migrations } from "#layers/sql/Migrations.ts"
import { describe } from "#layers/sql/Query.ts"
import { type BackupError, backupError } from "./BackupError.ts"
import type { Header, Page } from "./BackupFormat.ts"
import type { BackupReader } from "./BackupReader.ts"
import * as Catalog from "./Catalog.ts"
import { quote, quoteAll, type Table } from "./Catalog.ts"
import { readMark } from "./Changes.ts"
import type { Progress } from "./Dump.ts"

/** Number of the last migration of this program. */
export const newestSchema = Math.max(...migrations.map(({ number }) => number))

/** Refuses a backup of a schema that this program does not know. */
export const checkSchema = (file: string, { schema, windhover }: Header): Effect.Effect<void, BackupError> =>
  schema <= newestSchema
    ? Effect.void
    : Effect.fail(backupError(
      "Newer",
      `${file} was written by Windhover ${windhover} with schema ${schema}; this version knows ${newestSchema}. Restore with the newer version.`
    ))

/** Fails with `NotEmpty` when the database has a table of Windhover. */
export const requireEmpty = Effect.fn("Load.requireEmpty")(function*(place: string) {
  const tables = yield* Effect.mapError(Catalog.readTables, explainTarget)
  const schema = yield* Effect.mapError(Catalog.readSchemaVersion, explainTarget)
  if (tables.length === 0 && schema === undefined) return
  const isUnfinished = (yield* Effect.mapError(readMark, explainTarget)) === "new"
  return yield* backupError(
    "NotEmpty",
    isUnfinished
      ? `${place} holds a part of the rows of a move, and nothing was changed. Wait for its end; if the command was killed, run 'windhover move --cancel' with the same places.`
      : `${place} holds a database of Windhover already, and nothing was changed. Name an empty database, or drop this one and create it again.`
  )
})

/**
 * Restores a backup into an empty database, in one transaction: a failure leaves the database empty.
 *
 * The schema is first the one of the backup. After the rows are there, the newer migrations run on them.
 */
export const restore = Effect.fn("Load.restore")(
  function*(reader: BackupReader, progress: Progress, all: typeof migrations = migrations) {
    const sql = yield* SqlClient.SqlClient
    const { header } = reader
    yield* sql.withTransaction(Effect.gen(function*() {
      yield* makeMigrate(all.filter(({ number }) => number <= header.schema))
      const tables = yield* matchTables(header)
      const total = header.tables.reduce((sum, { rows }) => sum + rows, 0)
      let done = 0
      yield* fill(
        [...tables.values()],
        Effect.gen(function*() {
          for (let page = yield* reader.next; page !== undefined; page = yield* reader.next) {
            const table = tables.get(page.table)
            if (table === undefined) return yield* unknownTable(page.table)
            yield* insert(table, page)
            done += page.rows.length
            progress(done, total)
          }
        })
      )
      yield* setSequences(header.sequences)
      yield* makeMigrate(all)
      yield* sql`delete from sessions` // a sign-out after the backup stays a sign-out
    }))
  },
  Effect.catchTag("SqlError", (error) => Effect.fail(explainTarget(error)))
)

export const explainTarget = (error: SqlError.SqlError): BackupError =>
  backupError(
    "Unusable",
    `The rows could not be written to the database: ${describe(error)}. The database was left empty.`,
    error
  )

const unknownTable = (name: string) =>
  backupError(
    "Damaged",
    `The backup has rows of ${JSON.stringify(name)}, and its schema has no such table. Nothing was restored.`
  )

/** The tables of the database by name. Fails when the header names other tables or columns. */
const matchTables = Effect.fnUntraced(function*({ schema, tables }: Header) {
  const found = yield* Catalog.readTables
  for (const { columns, name } of tables) {
    const table = found.find((table) => table.name === name)
    if (table === undefined) return yield* unknownTable(name)
    if (table.columns.map((column) => column.name).join() !== columns.join()) {
      return yield* backupError(
        "Damaged",
        `The columns of ${name} in the backup are not those of schema ${schema}. Nothing was restored.`
      )
    }
  }
  return new Map(found.map((table) => [table.name, table]))
})

interface Definition {
  readonly table: string
  readonly name: string
  readonly definition: string
}

/** The sample that an analyze takes of an expression in an index, where the schema sets it. The definition of an index lacks it. */
interface StatisticsTarget {
  readonly index: string
  /** Number of the column in the index. */
  readonly column: number
  readonly target: number
}

/** Definitions of constraints and indexes apart from primary keys, as the catalogue renders them. */
export interface Definitions {
  readonly foreignKeys: ReadonlyArray<Definition>
  readonly uniques: ReadonlyArray<Definition>
  readonly indexes: ReadonlyArray<Definition>
  readonly statisticsTargets: ReadonlyArray<StatisticsTarget>
}

const readDefinitions = Effect.fnUntraced(function*(tables: ReadonlyArray<Table>) {
  const sql = yield* SqlClient.SqlClient
  const names = tables.map(({ name }) => name)
  const constraints = yield* sql<Definition & { type: string }>`
    select t.relname::text as table, c.conname::text as name, c.contype::text as type, pg_get_constraintdef(c.oid) as definition
    from pg_constraint c join pg_class t on t.oid = c.conrelid
    where c.contype in ('f', 'u') and t.relnamespace = current_schema()::regnamespace and t.relname::text = any(${names}::text[])
    order by c.oid`
  const indexes = yield* sql<Definition>`
    select t.relname::text as table, x.relname::text as name, pg_get_indexdef(i.indexrelid) as definition
    from pg_index i join pg_class t on t.oid = i.indrelid join pg_class x on x.oid = i.indexrelid
    where t.relnamespace = current_schema()::regnamespace and t.relname::text = any(${names}::text[])
      and not exists (select from pg_constraint c where c.conindid = i.indexrelid and c.contype in ('p', 'u'))
    order by x.oid`
  const statisticsTargets = yield* sql<StatisticsTarget>`
    select x.relname::text as index, a.attnum::int4 as column, a.attstattarget::int4 as target
    from pg_attribute a join pg_class x on x.oid = a.attrelid
    where x.relkind = 'i' and x.relnamespace = current_schema()::regnamespace
      and x.relname::text = any(${indexes.map(({ name }) => name)}::text[]) and a.attstattarget >= 0
    order by x.oid, a.attnum`
  return {
    foreignKeys: constraints.filter(({ type }) => type === "f"),
    uniques: constraints.filter(({ type }) => type === "u"),
    indexes,
    statisticsTargets
  } satisfies Definitions
})

/** Runs a statement of a definition; only names and definitions of the catalogue are in it. */
const execute = (statement: string) => SqlClient.SqlClient.use((sql) => sql.unsafe(statement).unprepared)

const dropConstraint = ({ name, table }: Definition) =>
  execute(`alter table ${quote(table)} drop constraint ${quote(name)}`)

const addConstraint = ({ definition, name, table }: Definition, suffix = "") =>
  execute(`alter table ${quote(table)} add constraint ${quote(name)} ${definition}${suffix}`)

/** Empties the tables, and removes indexes and constraints: building an index once takes a fraction of the time of growing it. */
export const strip = Effect.fnUntraced(function*(tables: ReadonlyArray<Table>) {
  const definitions = yield* readDefinitions(tables)
  yield* Effect.forEach(definitions.foreignKeys, dropConstraint, { discard: true })
  yield* Effect.forEach(definitions.uniques, dropConstraint, { discard: true })
  yield* Effect.forEach(definitions.indexes, ({ name }) => execute(`drop index ${quote(name)}`), { discard: true })
  yield* execute(`truncate ${tables.map(({ name }) => quote(name)).join(", ")}`)
  return definitions
})

/** Builds the indexes that `strip` has removed, and gathers statistics. */
export const index = Effect.fnUntraced(function*(tables: ReadonlyArray<Table>, definitions: Definitions) {
  yield* Effect.forEach(definitions.uniques, (constraint) => addConstraint(constraint), { discard: true })
  yield* Effect.forEach(definitions.indexes, ({ definition }) => execute(definition), { discard: true })
  yield* Effect.forEach(definitions.statisticsTargets, setStatisticsTarget, { discard: true })
  yield* Effect.forEach(tables, ({ name }) => execute(`analyze ${quote(name)}`), { discard: true })
})

const setStatisticsTarget = ({ column, index, target }: StatisticsTarget) =>
  execute(`alter index ${quote(index)} alter column ${column} set statistics ${target}`)

/** Adds the foreign keys that `strip` has removed, for all further rows. `validateForeignKeys` checks the present ones. */
export const addForeignKeys = ({ foreignKeys }: Definitions) =>
  Effect.forEach(foreignKeys, (constraint) => addConstraint(constraint, " not valid"), { discard: true })

export const validateForeignKeys = ({ foreignKeys }: Definitions) =>
  Effect.forEach(
    foreignKeys,
    ({ name, table }) => execute(`alter table ${quote(table)} validate constraint ${quote(name)}`),
    { discard: true }
  )

const fill = Effect.fnUntraced(function*<E, R>(tables: ReadonlyArray<Table>, rows: Effect.Effect<void, E, R>) {
  const definitions = yield* strip(tables)
  yield* rows
  yield* index(tables, definitions)
  yield* addForeignKeys(definitions)
  yield* validateForeignKeys(definitions)
})

/** Inserts rows of a page with all their columns, generated ones too. `then` follows the statement. */
export const insert = ({ columns, name }: Table, { rows }: Page, then = "") =>
  SqlClient.SqlClient.use((sql) =>
    // `offset 0` keeps the cast from being repeated for each column
    sql.unsafe<{ key: string }>(
      `insert into ${quote(name)} (${quoteAll(columns)}) overriding system value
      select ${columns.map((column) => `(v.r).${quote(column.name)}`).join(", ")}
      from (select text_::${quote(name)} as r from unnest($1::text[]) text_ offset 0) v ${then}`,
      [rows]
    )
  )

/** Lets sequences go on where those of the source stand. */
export const setSequences = Effect.fnUntraced(function*(positions: ReadonlyArray<Catalog.SequencePosition>) {
  const known = new Set((yield* Catalog.readSequences).map(({ name }) => name))
  const sql = yield* SqlClient.SqlClient
  for (const { called, name, value } of positions) {
    if (!known.has(name)) {
      return yield* backupError(
        "Damaged",
        `The backup has a sequence ${JSON.stringify(name)}, and its schema has none. Nothing was restored.`
      )
    }
    yield* sql`select setval(${quote(name)}::regclass, ${value}::text::int8, ${called})`
  }
})
