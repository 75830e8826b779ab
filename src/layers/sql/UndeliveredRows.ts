import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type {
  UndeliveredNotification,
  UndeliveredPage,
  UndeliveredPosition,
  UndeliveredQuery
} from "#domain/ports/Redelivery.ts"
import { run } from "./Query.ts"
import { column, millis } from "./Values.ts"

/** Subscriptions that one look reads, and looks per page. A healthy account has nothing to show, and many subscriptions. */
const subscriptionsPerLook = 2_000
const maxLooks = 5

interface UndeliveredRow {
  readonly subscription: number
  readonly topic: string
  readonly endpoint: string
  readonly sequence: number
  readonly notification: number
  readonly part: boolean
  readonly state: number
  readonly attempt: number
  readonly due: number
  readonly code: number | null
  readonly error: string | null
  readonly recorded: number | null
}

/** Reads a page of `Redelivery.undelivered`. */
export const selectUndelivered = (sql: SqlClient.SqlClient) =>
  Effect.fn("Redelivery.undelivered")(function*(query: UndeliveredQuery) {
    let after = query.after ?? { subscriptionId: query.subscriptionId ?? 0, sequence: 0 }
    for (let look = 0; look < maxLooks; look++) {
      const { ids, last } = yield* findSubscriptions(sql, query, after)
      const rows = ids.length === 0 ? [] : yield* selectRows(sql, ids, after, query.limit + 1)
      const items = rows.slice(0, query.limit).map(undeliveredOf)
      const next = rows.length > query.limit || ids.length === query.limit ? positionOf(items.at(-1)) : last
      if (items.length > 0 || next === undefined) {
        return { items, ...(next !== undefined && { next }) } satisfies UndeliveredPage
      }
      after = next
    }
    return { items: [], next: after }
  })

const positionOf = (item: UndeliveredNotification | undefined): UndeliveredPosition | undefined =>
  item === undefined ? undefined : { subscriptionId: item.subscriptionId, sequence: item.sequence }

/** The first subscriptions with undelivered notifications. `last` is the end of the look; undefined at the end of the account. */
const findSubscriptions = Effect.fnUntraced(function*(
  sql: SqlClient.SqlClient,
  { accountId, limit, subscriptionId }: UndeliveredQuery,
  after: UndeliveredPosition
) {
  const [found] = yield* run(sql.unsafe<{ ids: ReadonlyArray<number> | null; last: number | null; count: number }>(
    `with looked as (
      select id from subscriptions where account_id = $1::int4 and id >= $2::int8 and ($3::int8 is null or id = $3::int8)
      order by id limit ${subscriptionsPerLook}
    )
    select (select array_agg(id::float8) from (
        select id from looked l where ${hasUndelivered("l.id", 0)} or ${
      hasUndelivered("l.id", 1)
    } order by id limit $5::int4
      ) wanted) as ids,
      (select max(id)::float8 from looked) as last, (select count(*)::int4 from looked) as count`,
    [
      accountId,
      BigInt(after.subscriptionId),
      subscriptionId === undefined ? null : BigInt(subscriptionId),
      BigInt(after.sequence),
      limit
    ]
  ))
  const { count = 0, ids, last } = found ?? {}
  return {
    ids: ids ?? [],
    last: count === subscriptionsPerLook && last != null ? { subscriptionId: last + 1, sequence: 0 } : undefined
  }
})

const hasUndelivered = (id: string, state: 0 | 1): string =>
  `exists (
    select from deliveries d where d.subscription_id = ${id} and d.state = ${state} and (${id} > $2::int8 or d.sequence > $4::int8)
  )`

const selectRows = (
  sql: SqlClient.SqlClient,
  ids: ReadonlyArray<number>,
  after: UndeliveredPosition,
  limit: number
) =>
  run(sql.unsafe<UndeliveredRow>(
    `select s.id::float8 as subscription, s.topic, s.endpoint, d.sequence::float8 as sequence,
      d.notification_id::float8 as notification, d.entry_seqs is not null as part, d.state, d.attempt,
      ${millis("d.due_at")} as due, d.last_code as code, d.last_error as error,
      (select ${millis("n.created_at")} from notifications n where n.id = d.notification_id) as recorded
    from subscriptions s cross join lateral (
      ${[0, 1].map(firstRows).join(" union all ")} order by sequence limit $4::int4
    ) d where s.id = any($1::int8[]) order by s.id, d.sequence limit $4::int4`,
    [column.ids(ids), BigInt(after.subscriptionId), BigInt(after.sequence), limit]
  ))

const firstRows = (state: number): string =>
  `(select * from deliveries d where d.subscription_id = s.id and d.state = ${state} and (s.id > $2::int8 or d.sequence > $3::int8)
    order by d.sequence limit $4::int4)`

const undeliveredOf = (row: UndeliveredRow): UndeliveredNotification => ({
  subscriptionId: row.subscription,
  topic: row.topic,
  endpoint: row.endpoint,
  sequence: row.sequence,
  notificationId: row.notification,
  isPart: row.part,
  state: row.state === 0 ? "waiting" : "dropped",
  attempts: row.attempt,
  ...(row.state === 0 && { nextTry: row.due }),
  ...(row.code !== null && { failed: { code: row.code, message: row.error ?? "" } }),
  ...(row.recorded !== null && { recordedAt: row.recorded })
})
