import { Clock, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { ResourceStore, type SubscribedResource } from "#domain/ports/ResourceStore.ts"
import type { Entry } from "#domain/feed/Entry.ts"
import type { ResourceProfile, ResourceState } from "#domain/poll/Resource.ts"
import { batched, rowsOfInputs, sharedReads } from "./Batched.ts"
import { isOneOf } from "./Conditions.ts"
import { selectNewest, selectNewestVersion } from "./EntryStoreSql.ts"
import { announceFirst } from "./FirstAnnouncement.ts"
import { sqlWithGenericPlans } from "./GenericPlans.ts"
import { makeFindPinged } from "./PingedTopics.ts"
import { run } from "./Query.ts"
import { makeReadAlarms } from "./ResourceAlarms.ts"
import { makeRecord } from "./ResourceRecords.ts"
import {
  profileOf,
  type ProfileRow,
  profileSelect,
  resourceOf,
  type ResourceRow,
  resourceTables,
  selectResources
} from "./ResourceRows.ts"
import { makeTouches } from "./ResourceTouches.ts"
import { makeVersionMemory, type VersionedValue } from "./RowVersions.ts"
import { decodeEntries } from "./StoredJson.ts"
import { formats } from "./SubscriptionRows.ts"
import { column, urlKey } from "./Values.ts"

export const layer = Layer.effect(
  ResourceStore,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const genericSql = yield* sqlWithGenericPlans
    const { flush, touch, touchOf, withTouch } = yield* makeTouches(genericSql)
    return ResourceStore.of({
      find: find(genericSql, withTouch),
      findSubscribed: findSubscribed(genericSql, withTouch),
      findPinged: makeFindPinged(genericSql),
      load: makeLoad(genericSql, withTouch),
      alarms: makeReadAlarms(sql, touchOf),
      touch,
      record: yield* makeRecord(genericSql),
      announceFirst: announceFirst(sql),
      flush
    })
  })
)

const find = (sql: SqlClient.SqlClient, withTouch: (resource: ResourceState) => ResourceState) =>
  Effect.fn("ResourceStore.find")(function*(url: string) {
    if (url.includes("\u0000")) return Option.none() // the server would reject the statement
    const now = yield* Clock.currentTimeMillis
    const rows = yield* run(sql.unsafe<ResourceRow>(
      `${selectResources} where r.key = ${urlKey("$2")} and r.url = $2`,
      [now, url]
    ))
    return Option.map(Option.fromNullishOr(rows[0]), (row) => withTouch(resourceOf(row)))
  })

const makeLoad = (sql: SqlClient.SqlClient, withTouch: (resource: ResourceState) => ResourceState) =>
  batched({
    maxInputs: 1_000,
    run: Effect.fnUntraced(function*(ids: ReadonlyArray<number>) {
      const now = yield* Clock.currentTimeMillis
      const rows = yield* run(sql.unsafe<ResourceRow>(
        `${selectResources} where ${
          [
            "r.id",
            "s.resource_id",
            "t.resource_id"
          ].map((id) => isOneOf(id, "$2")).join(" and ")
        }`,
        [
          now,
          column.ids(ids)
        ]
      ))
      const byId = new Map(rows.map((row) => [row.id, withTouch(resourceOf(row))]))
      return ids.map((id) => Option.fromNullishOr(byId.get(id)))
    })
  })

interface SeenRow extends ProfileRow {
  /** Index of the input, from 1. */
  readonly position: number
  /** Id of the resource. */
  readonly key: bigint
  readonly format: number | null
  /** Of the newest entries. */
  readonly version: bigint
  /** JSON; null for large entries, and for a version that the reader has. */
  readonly entries: string | null
}

interface WantedTopic {
  readonly accountId: number
  readonly url: string
  readonly entryCount: number
}

/** Maximum of characters of the pages that stay in memory. Clients mostly read unchanged pages again. */
const maxPagesLength = 2 * 1024 * 1024

/** A page counts as many characters at least: up to 64 kB of rendered items are attached to it, so that at most 256 pages stay. */
const minPageLength = maxPagesLength / 256

const findSubscribed = (sql: SqlClient.SqlClient, withTouch: (resource: ResourceProfile) => ResourceProfile) => {
  const pages = makeVersionMemory<ReadonlyArray<Entry>>(maxPagesLength, minPageLength)
  const pageKeyOf = ({ entryCount, url }: WantedTopic) => `${entryCount} ${url}`
  const newestOf = (
    { entries, version }: SeenRow,
    wanted: WantedTopic,
    known: VersionedValue<ReadonlyArray<Entry>> | undefined
  ) => {
    if (version === known?.version) return known.value
    if (entries === null) return undefined
    const value = decodeEntries(entries)
    pages.keep(pageKeyOf(wanted), { version, value }, entries.length)
    return value
  }
  const find = sharedReads<WantedTopic, Option.Option<SubscribedResource>>({
    keyOf: ({ accountId, entryCount, url }) => `${accountId} ${entryCount} ${url}`,
    maxInputs: 32,
    run: Effect.fnUntraced(function*(wanted) {
      const known = wanted.map((one) => pages.get(pageKeyOf(one)))
      const rows = yield* run(sql.unsafe<SeenRow>(seenSql, [
        column.texts(wanted.map(({ url }) => url)),
        column.integers(wanted.map(({ accountId }) => accountId)),
        column.integers(wanted.map(({ entryCount }) => entryCount)),
        column.versions(known.map((page) => page?.version))
      ]))
      const own = rowsOfInputs(rows, wanted)
      return wanted.map((one, i) => {
        const row = own[i]?.[0]
        if (row === undefined) return Option.none()
        const { format } = formats[row.format ?? -1] ?? {}
        const newest = newestOf(row, one, known[i])
        return Option.some({
          resource: withTouch(profileOf(Number(row.key), row)),
          ...(format !== undefined && { format }),
          ...(newest !== undefined && { newest })
        })
      })
    })
  })
  return Effect.fnUntraced(function*(accountId: number, url: string, entryCount: number) {
    return url.includes("\u0000") ? Option.none() : yield* find({ accountId, url, entryCount })
  })
}

/**
 * The resources of URLs ($1), each with the format of the oldest subscription of an account ($2), and with its newest entries, as many as
 * the reader wants ($3), unless they have the version that the reader has ($4). With more than 1,000 subscriptions, the oldest of 1,000 counts.
 *
 * `limit 1` makes the join a look-up per URL. The query of the subscriptions follows the order of the unique index. In the order of the
 * primary key, or without an order, PostgreSQL expects an early match and walks the subscriptions of all accounts.
 */
export const seenSql = `
  select wanted.position::float8 as position, u.format, found.*, newest.version,
    case when newest.version is distinct from wanted.known then (${
  selectNewest("found.key", "wanted.count")
}) end as entries
  from unnest($1::text[], $2::int4[], $3::int4[], $4::int8[]) with ordinality wanted(url, account, count, known, position)
  cross join lateral (
    select r.id as key, ${profileSelect} from ${resourceTables}
    where r.key = ${urlKey("wanted.url")} and r.url = wanted.url limit 1
  ) found
  cross join lateral (
    select format from (
      select id, format from subscriptions where resource_id = found.key and account_id = wanted.account
      order by endpoint, face limit 1000
    ) mine order by id limit 1
  ) u
  cross join lateral (${selectNewestVersion("found.key", "wanted.count")}) newest`
