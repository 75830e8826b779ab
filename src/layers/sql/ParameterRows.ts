import type { PgTypes } from "@effect/sql-pg"

/** A column of rows that a statement receives as one array parameter. */
export interface ParameterColumn<Row> {
  readonly name: string
  /** Type of the array's elements. */
  readonly type: string
  readonly encode: (rows: ReadonlyArray<Row>) => PgTypes.Parameter
}

export const parameterColumn = <Row, A>(
  name: string,
  type: string,
  encode: (values: ReadonlyArray<A>) => PgTypes.Parameter,
  select: (row: Row) => A
): ParameterColumn<Row> => ({ name, type, encode: (rows) => encode(rows.map(select)) })

/** The names of the columns, for the alias of `unnestOf`. */
export const namesOf = <Row>(columns: ReadonlyArray<ParameterColumn<Row>>): string =>
  columns.map(({ name }) => name).join(", ")

/** The rows as an SQL expression; `first` is the number of the first parameter. */
export const unnestOf = <Row>(columns: ReadonlyArray<ParameterColumn<Row>>, first: number): string =>
  `unnest(${columns.map(({ type }, i) => `$${first + i}::${type}[]`).join(", ")})`

/**
 * The same rows with all columns but the first by subscript.
 *
 * Each array of `unnest` becomes a stored set of rows, which costs more than the few rows of most statements. A subscript walks through texts
 * and nulls, so that this form is for some dozens of rows.
 *
 * Columns of `apart` are left out. The rows then have their `position`, for `subscriptOf`.
 */
export const subscriptsOf = <Row>(
  columns: ReadonlyArray<ParameterColumn<Row>>,
  first: number,
  apart: ReadonlyArray<string> = []
): string => {
  const [key, ...others] = columns
  if (key === undefined) return ""
  const selected = others.filter(({ name }) => !apart.includes(name)).map(({ name }) =>
    `${subscriptOf(columns, first, name, "key.position")} as ${name}`
  )
  return `(
    select ${[`key.${key.name}`, ...(apart.length > 0 ? ["key.position"] : []), ...selected].join(", ")}
    from unnest($${first}::${key.type}[]) with ordinality key(${key.name}, position)
  )`
}

/**
 * One column of one row. A large value is best read where a statement stores it, because rows of a `with` copy their values several times.
 */
export const subscriptOf = <Row>(
  columns: ReadonlyArray<ParameterColumn<Row>>,
  first: number,
  name: string,
  position: string
): string => {
  const at = columns.findIndex((column) => column.name === name)
  return `($${first + at}::${columns[at]?.type}[])[${position}]`
}

export const encodeRows = <Row>(
  columns: ReadonlyArray<ParameterColumn<Row>>,
  rows: ReadonlyArray<Row>
): ReadonlyArray<PgTypes.Parameter> => columns.map(({ encode }) => encode(rows))
