import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { countFitting } from "#domain/delivery/Delivery.ts"
import type { Entry } from "#domain/feed/Entry.ts"
import type { Delivery, Notification } from "#domain/delivery/Notification.ts"
import type { Backlog } from "#domain/ports/Outbox.ts"
import { batched } from "./Batched.ts"
import { decodeEntry } from "./StoredJson.ts"
import { notificationOf, type NotificationRow, notificationSelect } from "./NotificationRows.ts"
import { run } from "./Query.ts"
import { column, millis } from "./Values.ts"

interface BacklogRequest {
  readonly id: number
  readonly count: number
  readonly bytes: number
}

interface WaitingRow {
  readonly id: number
  readonly subscription: number
  readonly sequence: number
  readonly credits: number
  readonly attempt: number
  readonly wait: number | null
  readonly part: boolean
  readonly due: number
  readonly since: number
  readonly notification: number
  /** Of the notification's document. */
  readonly bytes: number
}

/** Reads the first waiting deliveries of subscriptions. `confirmed` are the ids that `flush` has not deleted yet. */
export const makeReadBacklog = (sql: SqlClient.SqlClient, confirmed: ReadonlySet<number>) =>
  batched<BacklogRequest, Backlog>({
    maxInputs: 500,
    run: Effect.fnUntraced(function*(requests) {
      const ids = [...new Set(requests.map(({ id }) => id))]
      // The sequences come first: a delivery that is inserted between the two statements is announced separately.
      const sequences = yield* selectNextSequences(sql, ids)
      // A copy: the statement may still return a delivery that is deleted while it runs.
      const done = new Set(confirmed)
      const limit = Math.max(...requests.map(({ count }) => count)) + 1
      const rows = (yield* selectWaitingDeliveries(sql, ids, limit + done.size)).filter(({ id }) => !done.has(id))
      const bySubscription = Map.groupBy(rows, ({ subscription }) => subscription)
      const selected = requests.map((request) => {
        const all = sequences.has(request.id) ? bySubscription.get(request.id) ?? [] : []
        const first = all.slice(0, countFitting(all.map(({ bytes }) => bytes), request))
        return { first, hasMore: all.length > first.length, nextSequence: sequences.get(request.id) ?? 1 }
      })
      const notificationIds = selected.flatMap(({ first }) => first.map(({ notification }) => notification))
      const notifications = yield* selectNotifications(sql, [...new Set(notificationIds)])
      const parts = yield* selectParts(sql, selected.flatMap(({ first }) => first.filter(({ part }) => part)))
      return selected.map(({ first, hasMore, nextSequence }) => ({
        deliveries: first.flatMap((row) => toDeliveries(row, notifications.get(row.notification), parts.get(row.id))),
        hasMore,
        nextSequence
      }))
    })
  })

const selectNextSequences = (sql: SqlClient.SqlClient, subscriptionIds: ReadonlyArray<number>) =>
  Effect.map(
    run(sql.unsafe<{ id: number; next: number }>(
      `select id::float8 as id, next_sequence::float8 as next from subscriptions where id = any($1::int8[])`,
      [column.ids(subscriptionIds)]
    )),
    (rows) => new Map(rows.map(({ id, next }) => [id, next]))
  )

const selectWaitingDeliveries = (sql: SqlClient.SqlClient, subscriptionIds: ReadonlyArray<number>, limit: number) =>
  run(sql.unsafe<WaitingRow>(
    `select d.id::float8 as id, d.subscription_id::float8 as subscription, d.sequence::float8 as sequence, d.credits::float8 as credits,
      d.attempt, d.requested_wait as wait, d.entry_seqs is not null as part, ${millis("d.due_at")} as due,
      ${millis("d.created_at")} as since, d.notification_id::float8 as notification,
      coalesce((select octet_length(n.document) from notifications n where n.id = d.notification_id), 0) as bytes
    from unnest($1::int8[]) wanted(id) cross join lateral (
      select * from deliveries d where d.subscription_id = wanted.id and d.state = 0 order by d.sequence limit $2::int4
    ) d order by d.subscription_id, d.sequence`,
    [column.ids(subscriptionIds), limit]
  ))

/** Each notification once, however many subscriptions wait for it. */
export const selectNotifications = Effect.fnUntraced(function*(sql: SqlClient.SqlClient, ids: ReadonlyArray<number>) {
  const rows = yield* run(sql.unsafe<NotificationRow>(
    `select ${notificationSelect} from notifications n where n.id = any($1::int8[])`,
    [column.ids(ids)]
  ))
  return new Map(rows.map((row) => [row.id, notificationOf(row)]))
})

/** Entries of split notifications, by delivery. Nearly no delivery is split. */
export const selectParts = Effect.fnUntraced(function*(
  sql: SqlClient.SqlClient,
  rows: ReadonlyArray<Pick<WaitingRow, "id">>
) {
  if (rows.length === 0) return new Map<number, ReadonlyArray<Entry>>()
  const parts = yield* run(sql.unsafe<{ id: number; bodies: ReadonlyArray<string> | null }>(
    `select d.id::float8 as id,
      (select array_agg(e.body order by array_position(d.entry_seqs, e.seq)) from entries e
        where e.resource_id = n.resource_id and e.seq = any(d.entry_seqs)) as bodies
    from deliveries d join notifications n on n.id = d.notification_id where d.id = any($1::int8[])`,
    [column.ids(rows.map(({ id }) => id))]
  ))
  return new Map(parts.map(({ bodies, id }) => [id, (bodies ?? []).map(decodeEntry)]))
})

const toDeliveries = (
  row: WaitingRow,
  notification: Notification | undefined,
  part: ReadonlyArray<Entry> | undefined
): ReadonlyArray<Delivery> =>
  notification === undefined ? [] : [{
    id: row.id,
    subscriptionId: row.subscription,
    sequence: row.sequence,
    credits: row.credits,
    attempt: row.attempt,
    dueAt: row.due,
    ...(row.wait === null ? {} : { requestedWait: row.wait }),
    waitsSince: row.since,
    notification: part === undefined ? notification : { ...notification, news: { _tag: "Entries", entries: part } },
    ...(part === undefined ? {} : { isPart: true })
  }]
