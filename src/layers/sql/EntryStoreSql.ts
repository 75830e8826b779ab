import { Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import type { Entry } from "#domain/feed/Entry.ts"
import { ofString } from "#domain/Fingerprint.ts"
import { type EntryPage, EntryStore, type PageQuery, type StoredEntry } from "#domain/ports/EntryStore.ts"
import { column, copyOf, millis } from "./Values.ts"
import { run } from "./Query.ts"

/** Where an entry stands in the order of the page. */
interface Place {
  readonly place: string
  readonly seq: bigint
}

interface EntryRow {
  readonly resource: number
  readonly body: string
  readonly first_seen: number
}

const place = "coalesce(published, first_seen)"

export const layer = Layer.effect(
  EntryStore,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient

    /** Of the entries with this id the newest for `before`, the oldest for `after`: nothing is left out. */
    const placeOf = Effect.fnUntraced(function*(query: PageQuery, id: string, order: "asc" | "desc") {
      const rows = yield* run(sql.unsafe<Place & { readonly body: string }>(
        `select ${place}::text as place, seq, body from entries where resource_id = any($1::int8[]) and hash = $2::int8
      order by ${place} ${order}, seq ${order}`,
        [column.ids(query.resourceIds), BigInt.asIntN(64, ofString(id))]
      ))
      return rows.find(({ body }) => (JSON.parse(body) as Entry).id === id)
    })

    const select = Effect.fnUntraced(function*(query: PageQuery, before: Place | undefined, after: Place | undefined) {
      // with `after` alone the nearest ones are wanted: the oldest behind it
      const order = after !== undefined && before === undefined ? "asc" : "desc"
      const [first, ...others] = new Set(query.resourceIds)
      if (first === undefined) return []
      const alone = others.length === 0
      const parameters: Array<unknown> = [alone ? BigInt(first) : column.ids([first, ...others]), query.count]
      const bound = (at: Place | undefined, sign: "<" | ">") =>
        at === undefined
          ? ""
          : ` and (${place}, seq) ${sign} ($${parameters.push(at.place)}::timestamptz, $${
            parameters.push(at.seq)
          }::int8)`
      const bounds = bound(before, "<") + bound(after, ">")
      const inOrder = `order by ${place} ${order}, seq ${order} limit $2::int4`
      const rows = yield* run(sql.unsafe<EntryRow>(
        `select resource_id::float8 as resource, body, ${millis("first_seen")} as first_seen from ${
          alone
            ? `entries where resource_id = $1::int8${bounds}`
            : `unnest($1::int8[]) wanted(id) cross join lateral (
        select * from entries where resource_id = wanted.id${bounds} ${inOrder}
      ) e`
        } ${inOrder}`,
        parameters
      ))
      const entries = rows.map((row): StoredEntry => ({
        resourceId: row.resource,
        entry: JSON.parse(row.body) as Entry,
        firstSeen: row.first_seen
      }))
      return order === "asc" ? entries.toReversed() : entries
    })

    const page = Effect.fn("EntryStore.page")(function*(query: PageQuery) {
      const before = query.before === undefined ? undefined : yield* placeOf(query, query.before, "desc")
      if (query.before !== undefined && before === undefined) return unknown("before", query.before)
      const after = query.after === undefined ? undefined : yield* placeOf(query, query.after, "asc")
      if (query.after !== undefined && after === undefined) return unknown("after", query.after)
      const entries = yield* select(query, before, after)
      return { _tag: "Page", entries } satisfies EntryPage
    })

    const document = Effect.fn("EntryStore.document")(function*(resourceId: number) {
      const rows = yield* run(sql.unsafe<{ content_type: string; document: Uint8Array }>(
        `select content_type, document from resource_state where resource_id = $1::int8 and document is not null`,
        [BigInt(resourceId)]
      ))
      return Option.map(
        Option.fromNullishOr(rows[0]),
        (row) => ({ contentType: row.content_type, body: copyOf(row.document) })
      )
    })

    return EntryStore.of({ page, document })
  })
)

const unknown = (parameter: "before" | "after", id: string): EntryPage => ({ _tag: "UnknownEntry", parameter, id })
