import { Clock, Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { Document } from "#domain/delivery/Notification.ts"
import { Precedence } from "#domain/ports/Precedence.ts"
import type { ResourceState } from "#domain/poll/Resource.ts"
import { isLive, stateColumns, stateValues } from "./Conditions.ts"
import { notificationOfWrite, statusToSend } from "./NotificationContent.ts"
import { retryConflicts, run } from "./Query.ts"
import { continueRun } from "./SequenceRunColumns.ts"
import { instant, legalText } from "./Values.ts"
import { toDeliveries, type WrittenDelivery } from "./WrittenDeliveries.ts"

/**
 * One notification with deliveries to the hub face. Rows are locked in the order of `RecordStatement`.
 *
 * Streams read the notifications of a resource from number 1. The number here is negative, as of a replay, so that no stream reads it.
 */
const announceSql = `
with s as (
  update subscriptions u set next_sequence = u.next_sequence + 1, ${continueRun("null::int8")}
  where u.resource_id = $2::int8 and u.face = 1 and ${isLive("u")}
  returning u.id, u.account_id, u.state, u.next_sequence - 1 as sequence
),
n as (
  insert into notifications (resource_id, sequence, kind, status, content_type, document, created_at)
  select $2::int8, -nextval(pg_get_serial_sequence('notifications', 'id')), 1, $3::text, $4::text, $5::bytea, ${
  instant("$1::float8")
}
  where exists (select from s) returning id
),
d0 as (select s.*, row_number() over (partition by s.account_id order by s.id) as place from s),
c as (select account_id, count(*) as spent from d0 group by account_id),
a as (
  update accounts o set credits = o.credits - c.spent from c where o.id = c.account_id
  returning o.id, o.credits + c.spent as balance, c.spent
),
l as (
  insert into credit_ledger (account_id, kind, bucket, delta)
  select id, 0, date_trunc('hour', ${instant("$1::float8")}, 'UTC'), -spent from a
  on conflict (account_id, bucket, kind) do update set delta = credit_ledger.delta + excluded.delta
),
d as (
  insert into deliveries (notification_id, subscription_id, sequence, partition, credits, due_at, created_at, ${stateColumns})
  select n.id, d0.id, d0.sequence, r.partition, a.balance - d0.place, ${instant("$1::float8")}, ${
  instant("$1::float8")
},
    ${stateValues("d0.state")}
  from n, d0 join a on a.id = d0.account_id join resources r on r.id = $2::int8 order by d0.id
  returning id, notification_id, subscription_id, sequence, credits, state
)
select id::float8 as id, subscription_id::float8 as subscription, sequence::float8 as sequence, credits::float8 as credits,
  notification_id::float8 as notification
from d where state = 0 order by id`

export const announceFirst = (sql: SqlClient.SqlClient) =>
  Effect.fn("ResourceStore.announceFirst")(function*(state: ResourceState, document: Document) {
    if (state.strangersOnly === true) yield* (yield* Precedence).strangersTurn
    const now = yield* Clock.currentTimeMillis
    const rows = yield* run(retryConflicts(sql.unsafe<WrittenDelivery>(announceSql, [
      now,
      BigInt(state.id),
      JSON.stringify(statusToSend({ state })),
      legalText(document.contentType),
      document.body
    ])))
    const [first] = rows
    if (first === undefined) return []
    return toDeliveries(
      rows,
      notificationOfWrite({ state }, { _tag: "Document", document }, first.notification, now),
      now
    )
  })
