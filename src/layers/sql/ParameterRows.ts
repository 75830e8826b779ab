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
 */
export const subscriptsOf = <Row>(
  [key, ...others]: ReadonlyArray<ParameterColumn<Row>>,
  first: number
): string =>
  key === undefined ? "" : `(
    select key.${key.name}, ${
    others.map(({ name, type }, i) => `($${first + 1 + i}::${type}[])[key.position] as ${name}`).join(", ")
  }
    from unnest($${first}::${key.type}[]) with ordinality key(${key.name}, position)
  )`

export const encodeRows = <Row>(
  columns: ReadonlyArray<ParameterColumn<Row>>,
  rows: ReadonlyArray<Row>
): ReadonlyArray<PgTypes.Parameter> => columns.map(({ encode }) => encode(rows))
