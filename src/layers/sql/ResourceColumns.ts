import type { PgTypes } from "@effect/sql-pg"
import type { ResourceKind, ResourceProfile, ResourceState } from "#domain/poll/Resource.ts"
import { decodeHeader, decodeServerProfile, decodeUnknown } from "./StoredJson.ts"
import { type ParameterColumn, parameterColumn } from "./ParameterRows.ts"
import { column, copyOf, instant, millis, unsigned } from "./Values.ts"

type Table = "schedule" | "resources" | "resource_state"

/** Translation between a value of the domain and a column. Absent values are null. */
interface Codec<A> {
  /** Type of the parameter: an array of this type holds one value per write. */
  readonly type: string
  encode(values: ReadonlyArray<A | undefined>): PgTypes.Parameter
  /** The column from a parameter, as an SQL expression. */
  readonly write: (parameter: string) => string
  /** The value that the driver returns, as an SQL expression. */
  readonly read: (column: string) => string
  readonly decode: (value: never) => A
}

/** Where a field of `ResourceState` is stored. */
interface ResourceColumn<A> {
  readonly table: Table
  readonly name: string
  readonly codec: Codec<A>
}

const asIs = {
  write: (parameter: string) => parameter,
  read: (name: string) => name,
  decode: <A>(value: A): A => value
}

/** Epoch milliseconds. */
const time: Codec<number> = { ...asIs, type: "float8", encode: column.numbers, write: instant, read: millis }
const integer: Codec<number> = { ...asIs, type: "int4", encode: column.integers }
const float: Codec<number> = { ...asIs, type: "float8", encode: column.numbers }
const text: Codec<string> = { ...asIs, type: "text", encode: column.texts }
const boolean: Codec<boolean> = {
  ...asIs,
  type: "bool",
  encode: (values) => column.booleans(values.map((value) => value ?? false))
}
const bytes: Codec<Uint8Array> = { ...asIs, type: "bytea", encode: column.bytes, decode: copyOf }
const fingerprint: Codec<bigint> = {
  ...asIs,
  type: "int8",
  encode: (values) => column.hashes(values.map((value) => value ?? null)),
  decode: unsigned
}
const json = <A>(decode: (text: string) => A): Codec<A> => ({
  ...asIs,
  type: "text",
  encode: (values) => column.texts(values.map((value) => value === undefined ? null : JSON.stringify(value))),
  decode
})

/** Stored numbers of the kinds: append only. */
const kinds: ReadonlyArray<ResourceKind> = ["unknown", "feed", "json", "html-fragment", "json-fragment", "other"]
const kind: Codec<ResourceKind> = {
  type: "int4",
  encode: (values) => column.integers(values.map((value) => kinds.indexOf(value ?? "unknown"))),
  write: (parameter) => `${parameter}::int2`,
  read: (name) => name,
  decode: (value: number) => kinds[value] ?? "unknown"
}

/** Fields that are fixed when the resource is created, or counted from its subscriptions. */
type OtherField =
  | "id"
  | "url"
  | "host"
  | "partition"
  | "subscribers"
  | "hasHubSubscribers"
  | "strangersOnly"
  | "askers"
type StoredField = Exclude<keyof ResourceState, OtherField>
export type ProfileField = StoredField & keyof ResourceProfile
export type InnerField = Exclude<StoredField, keyof ResourceProfile>

/**
 * Table, column and type of each stored field of a `ResourceProfile`.
 *
 * The statements that read, touch and record resources are generated from these two tables of columns.
 * A new field needs a line here, a migration, and its place in `ResourceState`.
 */
const profile = {
  nextFetch: { table: "schedule", name: "next_fetch", codec: time },
  lastFetch: { table: "schedule", name: "last_fetch", codec: time },
  period: { table: "schedule", name: "period", codec: integer },
  code: { table: "schedule", name: "http_code", codec: integer },
  http: { table: "resource_state", name: "http_message", codec: text },
  lastParse: { table: "resource_state", name: "last_parse", codec: time },
  entriesSinceMaintenance: { table: "resource_state", name: "entries_since_maintenance", codec: integer },
  kind: { table: "resources", name: "kind", codec: kind },
  header: { table: "resources", name: "header", codec: json(decodeHeader) },
  generatedIds: { table: "resources", name: "generated_ids", codec: boolean },
  bozoRank: { table: "resources", name: "bozo_rank", codec: float },
  velocity: { table: "resources", name: "velocity", codec: float },
  popularity: { table: "resources", name: "popularity", codec: float },
  pornRank: { table: "resources", name: "porn_rank", codec: float },
  lastMaintenanceAt: { table: "resources", name: "last_maintenance_at", codec: time }
} satisfies { readonly [F in ProfileField]: ResourceColumn<Exclude<ResourceState[F], undefined>> }

/** The other stored fields of a `ResourceState`: only polls need these. */
const inner = {
  failures: { table: "schedule", name: "failures", codec: integer },
  idPolicy: { table: "resources", name: "id_policy", codec: json(decodeUnknown) },
  lastUnconditionalFetch: { table: "resource_state", name: "last_unconditional_fetch", codec: time },
  etag: { table: "resource_state", name: "etag", codec: text },
  lastModified: { table: "resource_state", name: "last_modified", codec: text },
  serverProfile: { table: "resource_state", name: "server_profile", codec: json(decodeServerProfile) },
  signature: { table: "resource_state", name: "fingerprint", codec: fingerprint },
  inError: { table: "resource_state", name: "in_error", codec: boolean },
  seen: { table: "resource_state", name: "seen", codec: bytes },
  slices: { table: "resource_state", name: "slices", codec: bytes }
} satisfies { readonly [F in InnerField]: ResourceColumn<Exclude<ResourceState[F], undefined>> }

export interface StoredColumn<F extends StoredField = StoredField> extends ResourceColumn<unknown> {
  readonly field: F
}

const listColumns = <F extends StoredField>(
  columns: Readonly<Record<F, ResourceColumn<unknown>>>
): ReadonlyArray<StoredColumn<F>> =>
  Object.entries<ResourceColumn<unknown>>(columns).map(([field, column]) => ({ field: field as F, ...column }))

export const profileColumns = listColumns<ProfileField>(profile)
export const innerColumns = listColumns<InnerField>(inner)

/** The columns of one table, or of all tables. */
export const columnsOf = (table?: Table): ReadonlyArray<StoredColumn> =>
  [...profileColumns, ...innerColumns].filter((column) => table === undefined || column.table === table)

/** The columns as parameters of a statement, from the state in a row. */
export const stateParameters = <Row>(
  columns: ReadonlyArray<StoredColumn>,
  stateOf: (row: Row) => { readonly [F in StoredField]?: unknown }
): ReadonlyArray<ParameterColumn<Row>> =>
  columns.map(({ codec, field, name }) => parameterColumn(name, codec.type, codec.encode, (row) => stateOf(row)[field]))

/** The values of a table from the parameters in `source`. */
export const valuesOf = (table: Table, source: string): string =>
  columnsOf(table).map(({ codec, name }) => codec.write(`${source}.${name}`)).join(", ")

/** The assignments of an update of a table from the parameters in `source`. */
export const assignmentsOf = (table: Table, source: string): string =>
  columnsOf(table).map(({ codec, name }) => `${name} = ${codec.write(`${source}.${name}`)}`).join(", ")
