import { Effect, Layer, Option } from "effect"
import type { SqlClient } from "effect/sql"
import { hashString } from "#domain/Fingerprint.ts"
import { ContentRoom, smallContentBytes } from "#domain/ports/ContentRoom.ts"
import { type EntryPage, EntryStore, maxPageBytes, type PageQuery, type StoredEntry } from "#domain/ports/EntryStore.ts"
import { sqlWithGenericPlans } from "./GenericPlans.ts"
import { run } from "./Query.ts"
import { versionOfRows } from "./RowVersions.ts"
import { decodeEntry } from "./StoredJson.ts"
import { column, copyOf, millis } from "./Values.ts"

/** Position of an entry in the order of the page: time, then order of arrival. */
interface PagePosition {
  readonly time: string
  readonly seq: bigint
}

interface EntryRow {
  readonly resource: number
  /** Null where the page is too large to be read without room. */
  readonly body: string | null
  readonly bytes: number
  readonly first_seen: number
}

const time = "coalesce(published, first_seen)"

/** Columns of an `EntryRow`. */
const entrySelect = `resource_id::float8 as resource, octet_length(body)::float8 as bytes, ${
  millis("first_seen")
} as first_seen`

const storedEntryOf = (row: EntryRow): StoredEntry => ({
  resourceId: row.resource,
  entry: decodeEntry(row.body ?? ""),
  firstSeen: row.first_seen
})

/** Maximum of bytes of the entries that share a statement with those of other resources. */
const maxSharedBytes = smallContentBytes / 4

const newestRows = (resourceId: string, count: string): string =>
  `from entries where resource_id = ${resourceId} order by ${time} desc, seq desc limit ${count}`

/** Query of the newest entries of a resource as one JSON array, `entries`. Null above `maxSharedBytes`, without a read of the entries. */
export const selectNewest = (resourceId: string, count: string): string => `
  select case when count(*) = count(body) then '[' || coalesce(string_agg(body, ',' order by time desc, seq desc), '') || ']' end
    as entries
  from (
    select case when sum(octet_length(body)) over () <= ${maxSharedBytes} then body end as body, ${time} as time, seq
    from (select * ${newestRows(resourceId, count)}) newest
  ) sized`

/** Query of the version of the newest entries of a resource, `version`, without a read of their content. */
export const selectNewestVersion = (resourceId: string, count: string): string => `
  select coalesce(${versionOfRows("newest", "seq")}, 0) as version
  from (select xmin, seq ${newestRows(resourceId, count)}) newest`

export const layer = Layer.effect(
  EntryStore,
  Effect.map(
    sqlWithGenericPlans,
    (sql) => EntryStore.of({ page: readPage(sql), findById: findById(sql), document: readDocument(sql) })
  )
)

const readPage = (sql: SqlClient.SqlClient) => (query: PageQuery) =>
  run(
    query.order === "stored" && new Set(query.resourceIds).size > 1 ? readOrdered(sql, query) : selectPage(sql, query)
  )

/** Gets the room before the transaction, because the writes of the resources wait for its end. */
const readOrdered = (sql: SqlClient.SqlClient, query: PageQuery) =>
  Effect.flatMap(
    selectPage(sql, query),
    (page) =>
      page._tag === "Page"
        ? sql.withTransaction(Effect.andThen(awaitWrites(sql, query.resourceIds), selectPage(sql, query))).pipe(
          Effect.provideService(ContentRoom, () => Effect.void)
        )
        : Effect.succeed(page)
  )

/**
 * Waits for the writes of these resources, and holds up later ones until the end of the transaction.
 *
 * Concurrent transactions commit in any order, while `seq` is given out before. Without the locks, an entry could appear behind a newer one
 * of another resource, where a client that has the newer one never looks.
 */
const awaitWrites = (sql: SqlClient.SqlClient, resourceIds: ReadonlyArray<number>) =>
  sql.unsafe(
    `select 1 from resource_state where resource_id = any($1::int8[]) order by resource_id for share`,
    [column.ids(resourceIds)]
  )

const selectPage = Effect.fnUntraced(function*(sql: SqlClient.SqlClient, query: PageQuery) {
  const before = query.before === undefined ? undefined : yield* findPosition(sql, query, query.before, "desc")
  if (query.before !== undefined && before === undefined) return unknownEntry("before", query.before)
  const after = query.after === undefined ? undefined : yield* findPosition(sql, query, query.after, "asc")
  if (query.after !== undefined && after === undefined) return unknownEntry("after", query.after)
  const entries = yield* selectEntries(sql, query, before, after)
  return { _tag: "Page", entries } satisfies EntryPage
})

const unknownEntry = (parameter: "before" | "after", id: string): EntryPage => ({ _tag: "UnknownEntry", parameter, id })

/** The columns of the order, in one direction. */
const orderBy = ({ order }: PageQuery, direction: "asc" | "desc"): string =>
  order === "stored" ? `seq ${direction}` : `${time} ${direction}, seq ${direction}`

/** Several resources may have an entry with this id: `before` counts from the newest, `after` from the oldest. */
const findPosition = Effect.fnUntraced(
  function*(sql: SqlClient.SqlClient, query: PageQuery, id: string, direction: "asc" | "desc") {
    const rows = yield* sql.unsafe<PagePosition & { readonly body: string }>(
      `select ${time}::text as time, seq, body from entries where resource_id = any($1::int8[]) and hash = $2::int8
      order by ${orderBy(query, direction)}`,
      [column.ids(query.resourceIds), BigInt.asIntN(64, hashString(id))]
    )
    return rows.find(({ body }) => decodeEntry(body).id === id)
  }
)

const selectEntries = Effect.fnUntraced(
  function*(
    sql: SqlClient.SqlClient,
    query: PageQuery,
    before: PagePosition | undefined,
    after: PagePosition | undefined
  ) {
    // With `after` alone the page holds the nearest entries: the oldest behind the position.
    const direction = after !== undefined && before === undefined ? "asc" : "desc"
    const [first, ...others] = new Set(query.resourceIds)
    if (first === undefined) return []
    const isSingle = others.length === 0
    const parameters: Array<unknown> = [isSingle ? BigInt(first) : column.ids([first, ...others]), query.count]
    const boundOf = (position: PagePosition | undefined, sign: "<" | ">") => {
      if (position === undefined) return ""
      if (query.order === "stored") return ` and seq ${sign} $${parameters.push(position.seq)}::int8`
      const at = `$${parameters.push(position.time)}::timestamptz`
      return ` and (${time}, seq) ${sign} (${at}, $${parameters.push(position.seq)}::int8)`
    }
    const bounds = boundOf(before, "<") + boundOf(after, ">")
    const ordered = `order by ${orderBy(query, direction)} limit $2::int4`
    const source = isSingle
      ? `entries where resource_id = $1::int8${bounds}`
      : `unnest($1::int8[]) wanted(id) cross join lateral (
        select * from entries where resource_id = wanted.id${bounds} ${ordered}
      ) e`
    const rows = yield* readRows(sql, `select * from ${source} ${ordered}`, orderBy(query, direction), parameters)
    const entries = rows.map(storedEntryOf)
    return direction === "asc" ? entries.toReversed() : entries
  }
)

/**
 * The first entries of a selection that have `maxPageBytes` together, and the first one in any case.
 *
 * The length of a stored text is known without reading the text, so that the rest of the page is never read.
 */
const withinPageBytes = (selection: string, order: string, body: string): string =>
  `select ${entrySelect}, ${body} as body from (
    select e.*, sum(octet_length(body)) over (order by ${order}) - octet_length(body) as bytes_before from (${selection}) e
  ) e where bytes_before = 0 or bytes_before + octet_length(body) <= ${maxPageBytes} order by ${order}`

/** Reads a page at once if it is small. For a larger page, the first statement only measures, and the room comes before the second one. */
const readRows = Effect.fnUntraced(
  function*(sql: SqlClient.SqlClient, selection: string, order: string, parameters: ReadonlyArray<unknown>) {
    const small = `case when bytes_before + octet_length(body) <= ${smallContentBytes} then body end`
    const rows = yield* sql.unsafe<EntryRow>(withinPageBytes(selection, order, small), parameters)
    if (rows.every(({ body }) => body !== null)) return rows
    const reserve = yield* ContentRoom
    yield* reserve(rows.reduce((sum, { bytes }) => sum + bytes, 0))
    return yield* sql.unsafe<EntryRow>(withinPageBytes(selection, order, "body"), parameters)
  }
)

const findById = (sql: SqlClient.SqlClient) =>
  Effect.fn("EntryStore.findById")(function*(resourceIds: ReadonlyArray<number>, ids: ReadonlyArray<string>) {
    const wanted = new Set(ids)
    const hashes = Array.from(wanted, hashString)
    const rows = yield* run(readRows(
      sql,
      `select * from entries where resource_id = any($1::int8[]) and hash = any($2::int8[])`,
      `${time} desc, seq desc`,
      [column.ids(resourceIds), column.hashes(hashes)]
    ))
    return rows.map(storedEntryOf).filter(({ entry }) => wanted.has(entry.id)) // two ids may have the same hash
  })

const readDocument = (sql: SqlClient.SqlClient) =>
  Effect.fnUntraced(function*(resourceId: number) {
    const read = (document: string) =>
      Effect.map(
        run(sql.unsafe<{ content_type: string; document: Uint8Array | null; bytes: number }>(
          `select content_type, octet_length(document)::float8 as bytes, ${document} as document from resource_state
          where resource_id = $1::int8 and document is not null`,
          [BigInt(resourceId)]
        )),
        ([row]) => row
      )
    let row = yield* read(`case when octet_length(document) <= ${smallContentBytes} then document end`)
    if (row !== undefined && row.document === null) {
      const reserve = yield* ContentRoom
      yield* reserve(row.bytes)
      row = yield* read("document")
    }
    const document = row?.document
    return row === undefined || document === null || document === undefined
      ? Option.none()
      : Option.some({ contentType: row.content_type, body: copyOf(document) })
  })
