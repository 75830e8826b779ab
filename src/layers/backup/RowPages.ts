import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { type Page, pageBytes } from "./BackupFormat.ts"
import { type Column, quote, quoteAll, type Table } from "./Catalog.ts"

/** Maximum rows of a statement. */
const maxRows = 4_000

interface Row {
  readonly row: string
  readonly key: Key
}

/** A primary key: the values of its columns as text. */
export type Key = ReadonlyArray<string>

/**
 * Passes all rows of a table, or those of some keys, to `use`, in the order of the primary key and in pages of about 4 MiB. Reads the next page meanwhile.
 *
 * A statement reads at most 4,000 rows, and stops at 4 MiB: rows beyond are not read. Only a single larger row makes a larger page.
 */
export const forEachPage = Effect.fnUntraced(function*<E, R>(
  table: Table,
  use: (page: Page) => Effect.Effect<void, E, R>,
  wanted?: ReadonlyArray<Key>
): Effect.fn.Return<void, E | SqlError.SqlError, R | SqlClient.SqlClient> {
  let rows = yield* readAfter(table, undefined, wanted)
  while (rows.length > 0) {
    const page: Page = { table: table.name, rows: rows.map(({ row }) => row) }
    const [next] = yield* Effect.all([readAfter(table, rows.at(-1)?.key, wanted), use(page)], { concurrency: 2 })
    rows = next
  }
})

const readAfter = (table: Table, after: Key | undefined, wanted: ReadonlyArray<Key> | undefined) =>
  SqlClient.SqlClient.use((sql) => {
    const parameters = [BigInt(pageBytes), ...after ?? []]
    if (wanted === undefined) {
      return sql.unsafe<Row>(makeStatement(table, after !== undefined, quote(table.name)), parameters)
    }
    const source = `(select t.* from ${quote(table.name)} t where ${isAmong(table, "t", parameters.length + 1)}) t`
    return sql.unsafe<Row>(makeStatement(table, after !== undefined, source), [
      ...parameters,
      ...toColumns(table, wanted)
    ])
  })

/** Condition: the key of row `alias` is among those of the parameters from number `first` on, an array of text for each column. */
export const isAmong = ({ keys }: Table, alias: string, first: number): string => {
  const arrays = keys.map((_, index) => `$${first + index}::text[]`)
  const names = keys.map((_, index) => `k${index}`)
  const values = keys.map(({ type }, index) => `k${index}::${type}`)
  return `(${quoteAll(keys, `${alias}.`)}) in (select ${values.join(", ")} from unnest(${arrays.join(", ")}) k(${
    names.join(", ")
  }))`
}

/** Keys as an array for each column. */
export const toColumns = ({ keys }: Table, rows: ReadonlyArray<Key>): ReadonlyArray<ReadonlyArray<string>> =>
  keys.map((_, index) => rows.map((row) => row[index] ?? ""))

/** SQL expression: the key of row `alias` as an array of text. */
export const keyOf = ({ keys }: Table, alias = ""): string =>
  `array[${keys.map(({ name }) => `${alias}${quote(name)}::text`).join(", ")}]`

/**
 * Measures the rows before it reads them: `octet_length` of a large value needs only its head. The size of a value in hexadecimal is twice its
 * length, and quotes are doubled.
 */
const makeStatement = (table: Table, hasStart: boolean, source: string): string => {
  const { columns, keys } = table
  const order = quoteAll(keys)
  const start = keys.map(({ type }, index) => `$${index + 2}::text::${type}`).join(", ")
  return `select row(${quoteAll(columns, "w.")})::text as row, ${keyOf(table, "w.")} as key
    from (
      select page.*, sum(page.bytes_) over (order by ${order} rows unbounded preceding) - page.bytes_ as before_
      from (
        select ${quoteAll(columns)}, (${
    ["64", ...columns.filter(({ isVariable }) => isVariable).map(sizeOf)].join(" + ")
  })::int8 as bytes_
        from ${source} ${hasStart ? `where (${order}) > (${start})` : ""}
        order by ${order} limit ${maxRows}
      ) page
    ) w
    where w.before_ < $1::int8 order by ${quoteAll(keys, "w.")}`
}

const sizeOf = ({ name, type }: Column): string =>
  type === "text" || type === "bytea"
    ? `coalesce(2 * octet_length(${quote(name)}), 0)`
    : `coalesce(2 * pg_column_size(${quote(name)}), 0)`
