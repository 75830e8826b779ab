import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { type ListQuery, maxCountedNotifications, type SubscriptionItem } from "#domain/ports/SubscriptionStore.ts"
import { firstSuccessSlot, timeOfPosition } from "#domain/delivery/DeliveryLogEntry.ts"
import { matchAll, type Search } from "#domain/Search.ts"
import { bounceColumns, type BounceRow, bouncesOf } from "./BounceRows.ts"
import { run } from "./Query.ts"
import { profileOf, type ProfileRow, profileSelect, resourceTables } from "./ResourceRows.ts"
import type { Box } from "./SecretBox.ts"
import { subscriptionOf, type SubscriptionRow, subscriptionSelect } from "./SubscriptionRows.ts"
import { type Likeness, searchesParts, searchSql } from "./SubscriptionSearch.ts"
import { column, millis } from "./Values.ts"

type ListSearch = Pick<ListQuery, "accountId" | "after" | "newestFirst" | "search">

/** Subscriptions that `feeds` reads at first: usually enough for its limit of resources. */
const maxFirstRead = 2_000

/**
 * The page of a list. A search selects the ids first, so that the statement joins only the rows of the page. Without counts, the rows have the
 * same plan for all values.
 */
export const list = (sql: SqlClient.SqlClient, genericSql: SqlClient.SqlClient, box: Box) =>
  Effect.fnUntraced(
    function*(query: ListQuery) {
      const { accountId, after, byPage, counted = false, newestFirst = false, page, search } = query
      const offset = (page - 1) * byPage
      const order = newestFirst ? "desc" : "asc"
      const client = counted === false ? genericSql : sql
      if (search === undefined) {
        const rows = yield* run(client.unsafe<ListedRow>(
          selectListed(pageOf(order, after !== undefined), counted, order),
          [accountId, BigInt(offset), BigInt(byPage), ...(after === undefined ? [] : [BigInt(after)])]
        ))
        return {
          items: rows.map(listedOf(box)),
          total: counted === true ? yield* count(sql, { accountId }, "exact") : undefined
        }
      }
      const { ids, likeness } = yield* selectPage(sql, { ...query, search }, offset, byPage)
      const rows = yield* run(
        client.unsafe<ListedRow>(selectListed("id = any($1::int8[])", counted, order), [column.ids(ids)])
      )
      return {
        items: rows.map(listedOf(box)),
        total: counted === true ? yield* count(sql, { accountId, search }, likeness) : undefined
      }
    }
  )

/**
 * The subscriptions of an account on a page, by the index of the account. The ranges leave the planner no other index for the order: a kept plan
 * could walk through the subscriptions of all accounts.
 */
export const pageOf = (order: "asc" | "desc", hasAfter: boolean): string => {
  const behind = hasAfter ? `(account_id, id) ${order === "desc" ? "<" : ">"} ($1::int4, $4::int8) and ` : ""
  return `${behind}account_id >= $1::int4 and account_id <= $1::int4
    order by account_id ${order}, id ${order} offset $2::int8 limit $3::int8`
}

/** Reads the oldest subscriptions first: these often show that more than `limit` resources match. Otherwise it reads all. */
export const selectFeeds = (sql: SqlClient.SqlClient, box: Box) =>
  Effect.fn("SubscriptionStore.feeds")(function*(accountId: number, search: Search, limit: number) {
    const query = { accountId, search }
    const { likeness } = yield* selectPage(sql, query, 0, limit)
    const oldest = Effect.fnUntraced(function*(bound: string) {
      const parameters: Array<unknown> = []
      const matching = searchSql(accountId, search, likeness, parameters)
      const rows = yield* run(
        sql.unsafe<SubscriptionRow>(
          `select ${subscriptionSelect} from subscriptions u where u.id = any(array(
            select min(id) from (select u.id, u.resource_id from ${matching} order by u.id ${bound}) u
            group by resource_id order by min(id) limit ${limit}
          )) order by u.id`,
          parameters
        ).unprepared
      )
      return rows.map(subscriptionOf(box))
    })
    const first = yield* oldest(`limit ${maxFirstRead}`)
    return first.length < limit ? yield* oldest("") : first
  })

/** The ids of a page; of similar subscriptions when none matches exactly. A page behind the last one is empty. */
export const selectPage = Effect.fnUntraced(
  function*(sql: SqlClient.SqlClient, query: ListSearch, offset: number, limit: number) {
    const ids = yield* selectIds(sql, query, "exact", offset, limit)
    const { after: _, ...first } = query
    const isExact = ids.length > 0 || !searchesParts(query.search ?? matchAll) ||
      (offset > 0 || query.after !== undefined) && (yield* selectIds(sql, first, "exact", 0, limit)).length > 0
    return isExact
      ? { ids, likeness: "exact" as const }
      : { ids: yield* selectIds(sql, query, "similar", offset, limit), likeness: "similar" as const }
  }
)

/** Unprepared, so that the plan knows the values: an index for rare values, a walk through the account for common ones. */
const selectIds = Effect.fnUntraced(
  function*(sql: SqlClient.SqlClient, query: ListSearch, likeness: Likeness, offset: number, limit: number) {
    const parameters: Array<unknown> = []
    const { accountId, after, newestFirst = false, search = matchAll } = query
    const matching = searchSql(accountId, search, likeness, parameters)
    const behind = after === undefined
      ? ""
      : ` and u.id ${newestFirst ? "<" : ">"} $${parameters.push(BigInt(after))}::int8`
    const rows = yield* run(
      sql.unsafe<{ id: number }>(
        `select u.id::float8 as id from ${matching}${behind} order by u.id ${newestFirst ? "desc" : "asc"}
        offset ${offset} limit ${limit}`,
        parameters
      ).unprepared
    )
    return rows.map(({ id }) => id)
  }
)

const count = Effect.fnUntraced(function*(sql: SqlClient.SqlClient, query: ListSearch, likeness: Likeness) {
  const parameters: Array<unknown> = []
  const matching = searchSql(query.accountId, query.search ?? matchAll, likeness, parameters)
  const [row] = yield* run(
    sql.unsafe<{ total: number }>(`select count(*)::float8 as total from ${matching}`, parameters).unprepared
  )
  return row?.total ?? 0
})

interface ListedRow extends SubscriptionRow, ProfileRow, BounceRow {
  /** Null without counts. */
  readonly waiting: number | null
  readonly dropped: number
  readonly next_try: number | null
  /** Position in the log. */
  readonly last_success: string | null
  readonly last_sequence: number | null
}

/**
 * The subscriptions that match a condition, oldest first, with their resources.
 *
 * `limit 1` makes the join a look-up per row: a kept plan knows neither how many subscriptions exist nor how few are wanted.
 */
const selectListed = (condition: string, counted: boolean | "items", order: "asc" | "desc"): string => `
select ${subscriptionSelect}, r.*${counted === false ? noCounts : counts(counted)}
from (select * from subscriptions where ${condition}) u
cross join lateral (select ${profileSelect} from ${resourceTables} where r.id = u.resource_id limit 1) r
${counted === false ? "" : "left join bounces b on b.subscription_id = u.id"} order by u.id ${order}`

const countDeliveries = (state: number, counted: true | "items"): string =>
  counted === true
    ? `(select count(*) from deliveries d where d.subscription_id = u.id and d.state = ${state})::float8`
    : `(select count(*) from (select from deliveries d where d.subscription_id = u.id and d.state = ${state}
      limit ${maxCountedNotifications}) counted)::float8`

const counts = (counted: true | "items"): string =>
  `, ${bounceColumns("b")}, ${countDeliveries(0, counted)} as waiting, ${countDeliveries(1, counted)} as dropped,
  (select ${millis("d.due_at")} from deliveries d where d.subscription_id = u.id and d.state = 0 and u.state = 1
    order by d.sequence limit 1) as next_try,
  (select max(l.id)::text from delivery_log l where l.subscription_id = u.id and l.slot >= ${firstSuccessSlot}) as last_success,
  ${counted === true ? "null::float8" : "(u.next_sequence - 1)::float8"} as last_sequence`

const noCounts =
  ", null::int4 as bounces, null::float8 as waiting, null::float8 as next_try, null::text as last_success, null::float8 as last_sequence"

const listedOf = (box: Box) => (row: ListedRow): SubscriptionItem => {
  const { dropped, waiting } = row
  const bounces = bouncesOf(row)
  return {
    subscription: subscriptionOf(box)(row),
    resource: profileOf(row.resource, row),
    ...(waiting !== null && { deliveries: { waiting, dropped } }),
    ...(row.last_sequence !== null && { lastSequence: row.last_sequence }),
    ...(row.next_try !== null && { nextTryAt: row.next_try }),
    ...(row.last_success !== null && { lastSuccessAt: timeOfPosition(BigInt(row.last_success)) }),
    ...(bounces !== undefined && { bounces })
  }
}
