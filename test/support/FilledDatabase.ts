import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Catalog from "#layers/backup/Catalog.ts"

/** Texts that a careless quotation, encoding or separation of rows would change. */
const oddTexts = ["", "a,b", "\"quoted\"", "back\\slash", "(1,2)", "two\nlines\t{}", "null", "\\x00", "é𝒜\u0001", " "]

const timeOf = (n: number) =>
  ["-infinity", "infinity", "2026-11-29 14:00:00.123456+00", "0044-03-15 12:00:00+00 BC"][n % 4]

/** A value of a column, as text of PostgreSQL: different in each row, and of the odd sort. */
const valueOf = (type: string, n: number): string | undefined => {
  switch (type) {
    case "text":
      return `${n}${oddTexts[n % oddTexts.length]}`
    case "bytea":
      return `\\x${n.toString(16).padStart(8, "0")}00ff5c22`
    case "boolean":
      return n % 2 === 0 ? "t" : "f"
    case "timestamp with time zone":
      return timeOf(n)
    case "double precision":
      return ["0.1", "-1e300", "NaN", "2.220446049250313e-16"][n % 4]
    case "bigint[]":
      return n % 2 === 0 ? "{}" : "{1,NULL,9223372036854775807}"
    case "text[]":
      return n % 2 === 0 ? "{}" : String.raw`{"a,b","\"quoted\"",NULL,"null"}`
    case "double precision[]":
      return "{0.1,-0}"
    default:
      return String(n)
  }
}

/** Columns that cannot be null everywhere, and so get a value always: the others are null in each fourth row. */
const requiredColumns = SqlClient.SqlClient.use((sql) =>
  Effect.map(
    sql<{ name: string }>`
      select table_name || '.' || column_name as name from information_schema.columns
      where table_schema = current_schema() and is_nullable = 'NO'`,
    (rows) => new Set(rows.map(({ name }) => name))
  )
)

/**
 * Fills each table of the schema with `count` rows of odd values. Numbers and ids of row n are n, so that foreign keys hold.
 *
 * Reads columns from the catalogue: a new table or column is filled, too.
 */
export const fillDatabase = Effect.fnUntraced(function*(count: number) {
  const sql = yield* SqlClient.SqlClient
  const required = yield* requiredColumns
  yield* sql.withTransaction(fillTables(count, required))
  yield* sql`select setval('log_positions', 77, true)`
  yield* sql`select setval('accounts_id_seq', 500, false)`
  yield* sql`select setval('events_id_seq', 100, true)`
})

const fillTables = Effect.fnUntraced(function*(count: number, required: ReadonlySet<string>) {
  const sql = yield* SqlClient.SqlClient
  for (const { columns, name } of yield* Catalog.readTables) {
    for (let n = 1; n <= count; n++) {
      const values = columns.map((column) =>
        n % 4 === 0 && !required.has(`${name}.${column.name}`) ? null : valueOf(column.type, n) ?? null
      )
      const casts = columns.map(({ type }, index) => `$${index + 1}::text::${type}`)
      yield* sql.unsafe(
        `insert into ${name} (${Catalog.quoteAll(columns)}) overriding system value values (${casts.join(", ")})`,
        values
      )
    }
  }
})

/** All rows by table, in the order of their keys, and the positions of sequences. */
export const contents = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const rows: Record<string, ReadonlyArray<string>> = {}
  for (const { keys, name } of yield* Catalog.readTables) {
    const found = yield* sql.unsafe<{ row: string }>(
      `select t::text as row from ${name} t order by ${
        keys.map((key) => `${Catalog.quote(key.name)}::text collate "C"`).join(", ")
      }`
    )
    rows[name] = found.map(({ row }) => row)
  }
  return { rows, sequences: yield* Catalog.readSequences }
})

/** Contents of a database, as its backup restores these: without sessions of the dashboard. */
export const restored = (before: Effect.Success<typeof contents>): typeof before => ({
  ...before,
  rows: { ...before.rows, sessions: [] }
})
