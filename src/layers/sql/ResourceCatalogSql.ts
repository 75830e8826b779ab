import { Clock, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { unpackFetchRecords } from "#domain/poll/FetchRecord.ts"
import { maxCountedSubscribers } from "#domain/poll/Resource.ts"
import {
  type CatalogItem,
  type CatalogPage,
  type CatalogQuery,
  type FailingHost,
  maxCountedFailing,
  ResourceCatalog
} from "#domain/ports/ResourceCatalog.ts"
import { matchAll } from "#domain/Search.ts"
import { isLive } from "./Conditions.ts"
import { hubStates } from "./HubSubscriptionStoreSql.ts"
import { run } from "./Query.ts"
import { profileOf, type ProfileRow, profileSelect, resourceTables } from "./ResourceRows.ts"
import { type Likeness, resourceSearchSql, searchesParts, searchSql } from "./SubscriptionSearch.ts"
import { column, copyOf, millis } from "./Values.ts"

/** Subscriptions that one page of an account reads at most: a resource may have many of the same account. */
const maxRead = 1_000

/** Subscriptions that it reads at first, by the limit of the page: most resources have one subscription of an account. */
const firstReadOf = (limit: number): number => 2 * (limit + 1)

/** Failing resources that the count of an account looks through: those of other accounts are among them. */
const maxReadFailing = 4 * maxCountedFailing

export const layer = Layer.effect(
  ResourceCatalog,
  SqlClient.SqlClient.useSync((sql) =>
    ResourceCatalog.of({
      list: list(sql),
      find: find(sql),
      fetches: readFetches(sql),
      versions: readVersions(sql),
      version: readVersion(sql),
      failingHosts: failingHosts(sql)
    })
  )
)

const list = (sql: SqlClient.SqlClient) =>
  Effect.fn("ResourceCatalog.list")(function*(query: CatalogQuery) {
    const exact = yield* selectEnough(sql, query, "exact")
    const isSimilar = exact.length === 0 && query.after === undefined && searchesParts(query.search ?? matchAll)
    const read = isSimilar ? yield* selectEnough(sql, query, "similar") : exact
    const distinct = [...new Set(read)]
    const ids = distinct.slice(0, query.limit)
    const last = ids.at(-1)
    const hasNext = !isSimilar && last !== undefined && (distinct.length > query.limit || read.length >= maxRead)
    const items = yield* selectItems(sql, ids, query.accountId)
    return { items, ...(hasNext && { next: last }) } satisfies CatalogPage
  })

/** Reads more when the first subscriptions of an account belong to too few resources. */
const selectEnough = Effect.fnUntraced(function*(sql: SqlClient.SqlClient, query: CatalogQuery, likeness: Likeness) {
  const { accountId, limit } = query
  if (accountId === undefined) return yield* selectIds(sql, query, likeness, limit + 1)
  const first = yield* selectIds(sql, query, likeness, firstReadOf(limit))
  return first.length < firstReadOf(limit) || new Set(first).size > limit
    ? first
    : yield* selectIds(sql, query, likeness, maxRead)
})

/** Ids in descending order, some of them repeated. Unprepared, so that the plan knows how common the wanted values are. */
const selectIds = Effect.fnUntraced(
  function*(
    sql: SqlClient.SqlClient,
    { accountId, after, search = matchAll }: CatalogQuery,
    likeness: Likeness,
    count: number
  ) {
    const parameters: Array<unknown> = []
    const [matching, id] = accountId === undefined
      ? [resourceSearchSql(search, likeness, parameters), "r.id"] as const
      : [searchSql(accountId, search, likeness, parameters), "u.resource_id"] as const
    const behind = after === undefined ? "" : ` and ${id} < $${parameters.push(BigInt(after))}::int8`
    const rows = yield* run(
      sql.unsafe<{ id: number }>(
        `select ${id}::float8 as id from ${matching}${behind} order by ${id} desc limit ${count}`,
        parameters
      ).unprepared
    )
    return rows.map((row) => row.id)
  }
)

interface ItemRow extends ProfileRow {
  readonly id: number
  readonly url: string
  readonly host: string
  readonly partition: number
  readonly failures: number
  readonly in_error: boolean
  readonly subscribers: number
  readonly hub: string | null
  readonly hub_state: number | null
  readonly reliable: boolean | null
}

/** `$1` is now, `$2` the ids, and `$3` the account. */
const itemsSql = (isOfAccount: boolean): string => {
  const ofAccount = isOfAccount ? " and u.account_id = $3::int4" : ""
  return `select r.id::float8 as id, r.url, r.host, r.partition, ${profileSelect}, s.failures, t.in_error,
    h.hub, h.state as hub_state, h.reliable,
    (select count(*) from (select from subscriptions u where u.resource_id = r.id${ofAccount} and ${isLive("u")}
      limit ${maxCountedSubscribers}) counted)::int4 as subscribers
  from ${resourceTables} left join hub_subscriptions h on h.resource_id = r.id
  where r.id = any($2::int8[])${
    isOfAccount ? ` and exists (select from subscriptions u where u.resource_id = r.id${ofAccount})` : ""
  } order by r.id desc`
}

const selectItems = Effect.fnUntraced(
  function*(sql: SqlClient.SqlClient, ids: ReadonlyArray<number>, accountId: number | undefined) {
    if (ids.length === 0) return []
    const now = yield* Clock.currentTimeMillis
    const parameters = [now, column.ids(ids), ...(accountId === undefined ? [] : [accountId])]
    const rows = yield* run(sql.unsafe<ItemRow>(itemsSql(accountId !== undefined), parameters))
    return rows.map(itemOf)
  }
)

const itemOf = (row: ItemRow): CatalogItem => ({
  resource: profileOf(row.id, row),
  url: row.url,
  host: row.host,
  partition: row.partition,
  failures: row.failures,
  inError: row.in_error,
  subscribers: row.subscribers,
  ...(row.hub !== null && row.hub !== "" && {
    hub: { hub: row.hub, state: hubStates[row.hub_state ?? 0] ?? "idle", isReliable: row.reliable === true }
  })
})

const find = (sql: SqlClient.SqlClient) =>
  Effect.fn("ResourceCatalog.find")((query: Pick<CatalogQuery, "accountId"> & { readonly id: number }) =>
    Effect.map(selectItems(sql, [query.id], query.accountId), ([item]) => Option.fromNullishOr(item))
  )

const readFetches = (sql: SqlClient.SqlClient) =>
  Effect.fn("ResourceCatalog.fetches")(function*(resourceId: number) {
    const [row] = yield* run(sql.unsafe<{ fetches: Uint8Array }>(
      `select fetches from resource_state where resource_id = $1::int8`,
      [BigInt(resourceId)]
    ))
    return row === undefined ? [] : unpackFetchRecords(row.fetches)
  })

const readVersions = (sql: SqlClient.SqlClient) =>
  Effect.fn("ResourceCatalog.versions")((resourceId: number) =>
    run(sql.unsafe<{ id: number; at: number; contentType: string; bytes: number }>(
      `select id::float8 as id, ${
        millis("created_at")
      } as at, content_type as "contentType", octet_length(document) as bytes
      from document_versions where resource_id = $1::int8 order by id desc`,
      [BigInt(resourceId)]
    ))
  )

const readVersion = (sql: SqlClient.SqlClient) =>
  Effect.fn("ResourceCatalog.version")(function*(resourceId: number, id: number) {
    const rows = yield* run(sql.unsafe<{ content_type: string; document: Uint8Array }>(
      `select content_type, document from document_versions where resource_id = $1::int8 and id = $2::int8`,
      [BigInt(resourceId), BigInt(id)]
    ))
    return Option.map(
      Option.fromNullishOr(rows[0]),
      (row) => ({ contentType: row.content_type, body: copyOf(row.document) })
    )
  })

/** Both counts start in a partial index of what fails. `$1` is the limit, `$2` the account. */
const failingHosts = (sql: SqlClient.SqlClient) =>
  Effect.fn("ResourceCatalog.failingHosts")(function*(accountId: number | undefined, limit: number) {
    const parameters = [limit, ...(accountId === undefined ? [] : [accountId])]
    const ofAccount = accountId === undefined ? "" : " and u.account_id = $2::int4"
    const count = (source: string) =>
      run(sql.unsafe<FailingHost>(
        `select host, count(*)::float8 as count from (${source} limit ${maxCountedFailing}) f
        group by host order by count desc, host limit $1::int4`,
        parameters
      ))
    const resources = yield* count(
      // the lateral joins keep the planner from walking through all subscriptions of the account
      `select r.host from (select t.resource_id as id from resource_state t where t.in_error limit ${maxReadFailing}) t
      cross join lateral (select from subscriptions u where u.resource_id = t.id${ofAccount} limit 1) u
      cross join lateral (select r.host from resources r where r.id = t.id limit 1) r`
    )
    const callbacks = yield* count(`select u.host from subscriptions u where u.failing_since is not null${ofAccount}`)
    return { resources, callbacks }
  })
