import { Effect, Option } from "effect"
import type { SqlClient } from "effect/sql"
import type { LogPlace } from "#domain/delivery/DeliveryLogEntry.ts"
import type { Delivery } from "#domain/delivery/Notification.ts"
import type { DeliveryDetail } from "#domain/ports/DeliveryLog.ts"
import { attemptOf, type AttemptRow, attemptSelect, endOf, type EndRow, endSelect } from "./DeliveryLogRows.ts"
import { notificationOf, type NotificationRow, notificationSelect } from "./NotificationRows.ts"
import { run } from "./Query.ts"
import { decodeEntry } from "./StoredJson.ts"

/** Reads one event of the log, see `DeliveryLog.find`. */
export const findDelivery = (sql: SqlClient.SqlClient) =>
  Effect.fn("DeliveryLog.find")(function*(place: LogPlace, accountId: number | undefined) {
    return yield* run("slot" in place ? findAttempt(sql, place, accountId) : findEnd(sql, place.position, accountId))
  })

const findEnd = Effect.fnUntraced(
  function*(sql: SqlClient.SqlClient, position: bigint, accountId: number | undefined) {
    const [row] = yield* sql.unsafe<EndRow>(
      `select ${endSelect} from subscription_ends e where e.id = $1::int8 and ($2::int4 is null or e.account_id = $2::int4)`,
      [position, accountId ?? null]
    )
    return Option.map(Option.fromUndefinedOr(row), (found): DeliveryDetail => ({ event: endOf(found) }))
  }
)

/** The attempt with its subscription. */
type FoundRow = AttemptRow & { readonly credits: number | null }

const findAttempt = Effect.fnUntraced(function*(
  sql: SqlClient.SqlClient,
  { position, slot, subscriptionId }: Extract<LogPlace, { readonly slot: number }>,
  accountId: number | undefined
) {
  const [row] = yield* sql.unsafe<FoundRow>(
    `select ${attemptSelect}, l.credits::float8 as credits from delivery_log l join subscriptions u on u.id = l.subscription_id
    where l.subscription_id = $1::int8 and l.slot = $2::int4 and l.id = $3::int8 and ($4::int4 is null or u.account_id = $4::int4)`,
    [BigInt(subscriptionId), slot, position, accountId ?? null]
  )
  if (row === undefined) return Option.none<DeliveryDetail>()
  const event = attemptOf(row)
  const delivery = yield* findSentDelivery(sql, row)
  return Option.some<DeliveryDetail>(
    delivery === undefined ? { event } : { event, delivery }
  )
})

/** The delivery as it was sent; undefined when its notification, or the entries of its part, are not stored any more. */
const findSentDelivery = Effect.fnUntraced(function*(sql: SqlClient.SqlClient, row: FoundRow) {
  const [notification] = yield* sql.unsafe<NotificationRow>(
    `select ${notificationSelect} from notifications n where n.id = $1::int8`,
    [row.notification === null ? null : BigInt(row.notification)]
  )
  if (notification === undefined) return undefined
  const { attempt, credits, sequence, subscription } = row
  const delivery: Delivery = {
    id: 0,
    subscriptionId: subscription,
    sequence,
    credits: credits ?? 0,
    attempt: attempt - 1,
    dueAt: 0,
    waitsSince: 0,
    notification: notificationOf(notification)
  }
  if (!row.part) return delivery
  const [part] = yield* sql.unsafe<{ readonly bodies: ReadonlyArray<string> | null }>(
    `select (select array_agg(e.body order by array_position(d.entry_seqs, e.seq)) from entries e
      where e.resource_id = n.resource_id and e.seq = any(d.entry_seqs)) as bodies
    from deliveries d join notifications n on n.id = d.notification_id
    where d.subscription_id = $1::int8 and d.sequence = $2::int8 and d.notification_id = n.id and n.id = $3::int8
      and d.entry_seqs is not null`,
    [BigInt(subscription), BigInt(sequence), BigInt(notification.id)]
  )
  if (part === undefined || row.result === tooLarge) return undefined
  const entries = (part.bodies ?? []).map(decodeEntry)
  return {
    ...delivery,
    isPart: true as const,
    notification: { ...delivery.notification, news: { _tag: "Entries" as const, entries } }
  }
})

/** A part that was split again has other entries now. */
const tooLarge = 413
