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

export const encodeRows = <Row>(
  columns: ReadonlyArray<ParameterColumn<Row>>,
  rows: ReadonlyArray<Row>
): ReadonlyArray<PgTypes.Parameter> => columns.map(({ encode }) => encode(rows))
