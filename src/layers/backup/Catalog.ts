import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"

/** All tables of the schema whose rows a backup holds: those of the migrations, without the list of migrations itself. */
export const tableNames: ReadonlyArray<string> = [
  "encryption_keys",
  "accounts",
  "tokens",
  "sessions",
  "credit_ledger",
  "events",
  "runners",
  "resources",
  "schedule",
  "resource_state",
  "document_versions",
  "entries",
  "strangers_bytes",
  "host_pauses",
  "subscriptions",
  "bounces",
  "subscription_ends",
  "notifications",
  "deliveries",
  "delivery_log",
  "delivery_recordings",
  "replays",
  "pings",
  "verifications",
  "verification_pacing",
  "hub_subscriptions",
  "hubs"
]

/** Sequences that belong to no column. */
const sequenceNames: ReadonlyArray<string> = ["log_positions"]

/** A table as the database has it. */
export interface Table {
  readonly name: string
  readonly columns: ReadonlyArray<Column>
  /** Columns of the primary key, in its order. */
  readonly keys: ReadonlyArray<Column>
}

export interface Column {
  readonly name: string
  readonly type: string
  /** True for a column of variable length. */
  readonly isVariable: boolean
}

/** Quotes a name of the catalogue. */
export const quote = (name: string): string => `"${name.replaceAll("\"", "\"\"")}"`

export const quoteAll = (columns: ReadonlyArray<Column>, prefix = ""): string =>
  columns.map(({ name }) => `${prefix}${quote(name)}`).join(", ")

/** The tables of the schema that this database has, in the order of `tableNames`. */
export const readTables = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<TableRow>`
    select c.relname::text as name,
      array(select a.attname::text from pg_attribute a
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped order by a.attnum) as columns,
      array(select format_type(a.atttypid, a.atttypmod) from pg_attribute a
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped order by a.attnum) as types,
      array(select a.attname::text from pg_attribute a
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attlen = -1) as variable,
      array(select a.attname::text from pg_index i
        cross join unnest(i.indkey::int2[]) with ordinality k(number, position)
        join pg_attribute a on a.attrelid = c.oid and a.attnum = k.number
        where i.indrelid = c.oid and i.indisprimary order by k.position) as keys
    from pg_class c
    where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace and c.relname::text = any(${tableNames}::text[])`
  const found = new Map(rows.map((row) => [row.name, toTable(row)]))
  return tableNames.flatMap((name) => found.get(name) ?? [])
})

interface TableRow {
  readonly name: string
  readonly columns: ReadonlyArray<string>
  readonly types: ReadonlyArray<string>
  readonly variable: ReadonlyArray<string>
  readonly keys: ReadonlyArray<string>
}

const toTable = ({ columns, keys, name, types, variable }: TableRow): Table => {
  const all = columns.map((column, index): Column => ({
    name: column,
    type: types[index] ?? "text",
    isVariable: variable.includes(column)
  }))
  return { name, columns: all, keys: keys.flatMap((key) => all.find((column) => column.name === key) ?? []) }
}

/** Number of the last migration; undefined in a database without the schema. */
export const readSchemaVersion = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const [exists] = yield* sql<{ found: boolean }>`select to_regclass('windhover_migrations') is not null as found`
  if (exists?.found !== true) return undefined
  const [newest] = yield* sql<{ id: number }>`
    select migration_id as id from windhover_migrations order by migration_id desc limit 1`
  return newest?.id
})

export const countRows = ({ name }: Table): Effect.Effect<number, SqlError.SqlError, SqlClient.SqlClient> =>
  SqlClient.SqlClient.use((sql) =>
    Effect.map(
      sql.unsafe<{ count: number }>(`select count(*)::float8 as count from ${quote(name)}`).unprepared,
      ([row]) => row?.count ?? 0
    )
  )

/** The position of a sequence. */
export interface SequencePosition {
  readonly name: string
  /** A 64-bit number in decimals. */
  readonly value: string
  readonly called: boolean
}

/** The positions of all sequences of the schema. A position is never behind the rows that a transaction sees. */
export const readSequences = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const found = yield* sql<{ name: string }>`
    select s.relname::text as name from pg_class s
    where s.relkind = 'S' and s.relnamespace = current_schema()::regnamespace and (
      s.relname::text = any(${sequenceNames}::text[])
      or exists (select from pg_depend d join pg_class t on t.oid = d.refobjid
        where d.objid = s.oid and d.classid = 'pg_class'::regclass and d.deptype in ('a', 'i') and t.relname::text = any(${tableNames}::text[]))
    ) order by 1`
  return yield* Effect.forEach(found, ({ name }) =>
    Effect.map(
      sql.unsafe<{ value: string; called: boolean }>(
        `select last_value::text as value, is_called as called from ${quote(name)}`
      ).unprepared,
      ([row]): SequencePosition => ({ name, value: row?.value ?? "1", called: row?.called ?? false })
    ))
})

/** Ids of the encryption keys that have sealed secrets of the database, in hexadecimal. */
export const readKeyIds = SqlClient.SqlClient.use((sql) =>
  Effect.map(
    sql<{ id: string }>`select encode(id, 'hex') as id from encryption_keys order by id`,
    (rows) => rows.map(({ id }) => id)
  )
)

/** Major version of the PostgreSQL. */
export const readPostgresVersion = SqlClient.SqlClient.use((sql) =>
  Effect.map(
    sql<{ major: number }>`select current_setting('server_version_num')::int / 10000 as major`,
    ([row]) => row?.major ?? 0
  )
)
