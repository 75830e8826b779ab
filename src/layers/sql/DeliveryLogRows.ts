import { formatNotificationId } from "#domain/delivery/Delivery.ts"
import {
  type DeliveryOutcome,
  firstSuccessSlot,
  formatLogId,
  type LoggedAttempt,
  type LoggedDenial,
  maxFailures,
  maxRecorded,
  serialMask,
  timeOfPosition
} from "#domain/delivery/DeliveryLogEntry.ts"
import { type FailureReason, reasonOfStatus, type SilentReason } from "#domain/delivery/FailureReason.ts"
import { acceptedSentence, type AttemptResult, statusSentence } from "#domain/delivery/Notification.ts"
import { isOneOf } from "./Conditions.ts"
import { millis } from "./Values.ts"

/**
 * Results without an HTTP status. Stored numbers: append only, below 100.
 *
 * The column `result` holds the status or one of these numbers. It is negative for the last attempt of a dropped delivery, so that one
 * index serves outcomes, statuses and reasons.
 */
const silentResults: { readonly [reason in SilentReason]: number } = {
  "refused-address": 2,
  dns: 3,
  connect: 4,
  tls: 5,
  timeout: 6,
  protocol: 7,
  bounced: 8,
  xmpp: 9,
  "refused-intent": 10,
  secret: 11,
  held: 12
}

const acceptedResult = 1

const firstStatus = 100

const maxResult = 32_767

const silentReasons = new Map<number, SilentReason>(
  (Object.keys(silentResults) as Array<SilentReason>).map((reason) => [silentResults[reason], reason])
)

export const resultOfSuccess = ({ code }: AttemptResult): number => code === 0 ? acceptedResult : code

/** A failure without a reason and a status is one of the connection. */
export const resultOfFailure = ({ code, reason }: Pick<AttemptResult, "code" | "reason">): number => {
  if (code >= firstStatus) return Math.min(code, maxResult)
  return silentResults[reason as SilentReason] ?? silentResults.protocol
}

/** The sentence of a failure; null if the status tells it. */
export const storedMessage = ({ code, message }: AttemptResult): string | null =>
  message === statusSentence(code) ? null : message

const isSuccess = (result: number): boolean => result === acceptedResult || (result >= 200 && result < 300)

/** Condition on a column of results. `undefined` when no attempt has such a result. */
export const resultCondition = (
  filter: { readonly outcome?: DeliveryOutcome; readonly reason?: FailureReason; readonly code?: number },
  column: string,
  isEnd = false
): string | undefined => {
  const conditions: Array<string> = []
  if (filter.outcome !== undefined && !isEnd) {
    const condition = outcomeConditions[filter.outcome]
    if (condition === undefined) return undefined
    conditions.push(condition(column))
  }
  if (filter.reason !== undefined) conditions.push(`abs(${column}) in (${resultsOfReason(filter.reason).join(", ")})`)
  if (filter.code !== undefined) {
    conditions.push(
      filter.code === 0 ? `abs(${column}) < ${firstStatus}` : `abs(${column}) = ${Math.trunc(filter.code)}`
    )
  }
  return conditions.length === 0 ? "true" : conditions.join(" and ")
}

/** The results that a filter allows at most, when they are few. */
export const exactResults = (
  { code = 0, reason }: { readonly reason?: FailureReason; readonly code?: number }
): ReadonlyArray<number> | undefined => {
  const silent = reason === undefined ? undefined : silentResults[reason as SilentReason]
  const result = silent ?? Math.trunc(code)
  return result === 0 ? undefined : [result, -result]
}

const success = (column: string) => `(${column} = ${acceptedResult} or ${column} between 200 and 299)`

const outcomeConditions: { readonly [outcome in DeliveryOutcome]: ((column: string) => string) | undefined } = {
  delivered: success,
  failed: (column) => `(${column} > 0 and ${column} <> ${silentResults.bounced} and not ${success(column)})`,
  dropped: (column) => `${column} < 0`,
  bounced: (column) => `${column} = ${silentResults.bounced}`,
  ended: undefined,
  denied: undefined
}

const resultsOfReason = (reason: FailureReason): ReadonlyArray<number> =>
  reason in silentResults
    ? [silentResults[reason as SilentReason]]
    : Array.from({ length: 900 }, (_, i) => firstStatus + i).filter((status) =>
      !isSuccess(status) && reasonOfStatus(status) === reason
    )

/** SQL expression: a position of the log at a time in epoch ms. */
export const positionAt = (time: string): string =>
  `(((${time})::int8 << 21) | (nextval('log_positions') & ${serialMask}))`

/** Columns that an insert takes from its source, beside the ones of the subscription. */
const insertedColumns =
  "id, subscription_id, slot, sequence, attempt, result, notification_id, is_part, credits, message, answer, latency, bytes, next_try, account_id, resource_id, host_key"

const replaceSlot = `on conflict (subscription_id, slot) do update set ${
  insertedColumns.split(", ").slice(3).concat("id").map((name) => `${name} = excluded.${name}`).join(", ")
}`

/**
 * Inserts failed attempts from the relation `failed`, whose columns are `insertedColumns` without slot and the columns of the subscription.
 *
 * The next slot follows the one of the newest failure. A repeated statement finds its attempt there, and replaces it. `now` is an expression
 * of epoch ms.
 */
export const insertFailures = (now: string): string => `
  insert into delivery_log (${insertedColumns})
  select distinct on (subscription_id, slot) ${insertedColumns} from (
    select ${
  positionAt(now)
} as id, f.subscription_id, f.sequence, f.attempt, f.result, f.notification_id, f.is_part, f.credits,
      f.message, f.answer, f.latency, f.bytes, f.next_try, u.account_id, u.resource_id, hashtext(u.host) as host_key,
      case when n.sequence = f.sequence and n.attempt = f.attempt and n.result = f.result and n.is_part = f.is_part
          and n.message is not distinct from f.message then n.slot
        else (coalesce(n.slot, -1) + row_number() over (partition by f.subscription_id order by f.sequence)) % r.slots end as slot
    from failed f join subscriptions u on u.id = f.subscription_id
    cross join lateral (select case when exists (${
  isRecorded("f.subscription_id", now)
}) then ${maxRecorded} else ${maxFailures} end as slots) r
    left join lateral (
      select l.slot, l.sequence, l.attempt, l.result, l.is_part, l.message from delivery_log l
      where l.subscription_id = f.subscription_id and l.slot < r.slots order by l.id desc limit 1
    ) n on true
  ) p order by subscription_id, slot, sequence desc
  ${replaceSlot}`

/**
 * Inserts successes from the relation `succeeded`: id (of the subscription), sequence, attempt, tried (epoch ms), and the result.
 *
 * `ids` is the parameter with these ids.
 */
export const insertSuccesses = (ids: string, now: string): string => `
  insert into delivery_log (${insertedColumns})
  select distinct on (subscription_id, slot) ${insertedColumns} from (
    select ${
  positionAt("p.tried")
} as id, p.id as subscription_id, p.sequence, p.attempt, p.result, p.notification as notification_id,
      p.part as is_part, p.credits, null as message, null as answer, p.latency, p.bytes, null::timestamptz as next_try,
      u.account_id, u.resource_id, hashtext(u.host) as host_key, ${firstSuccessSlot} + p.sequence % r.slots as slot
    from succeeded p join subscriptions u on u.id = p.id and ${isOneOf("u.id", ids)}
    cross join lateral (select case when exists (${
  isRecorded("p.id", now)
}) then ${maxRecorded} else p.ring end as slots) r
  ) p order by subscription_id, slot, sequence desc
  ${replaceSlot}`

const isRecorded = (subscriptionId: string, now: string): string =>
  `select from delivery_recordings c where c.subscription_id = ${subscriptionId} and c.until > to_timestamp((${now}) / 1000.0)`

/** A row of `delivery_log` with its subscription. */
export interface AttemptRow {
  readonly id: string
  readonly subscription: number
  readonly slot: number
  /** Null for a removed subscription. */
  readonly topic: string | null
  readonly endpoint: string
  readonly host: string
  readonly sequence: number
  readonly attempt: number
  readonly result: number
  readonly notification: number | null
  readonly part: boolean
  readonly message: string | null
  readonly answer: string | null
  readonly latency: number | null
  readonly bytes: number | null
  readonly next: number | null
}

/** Columns of an `AttemptRow` from the log `l` and subscriptions `u`. */
export const attemptSelect =
  `l.id::text as id, l.subscription_id::float8 as subscription, l.slot, u.topic, u.endpoint, u.host, l.sequence::float8 as sequence, l.attempt,
  l.result, l.notification_id::float8 as notification, l.is_part as part, l.message, l.answer, l.latency, l.bytes, ${
    millis("l.next_try")
  } as next`

/** A row of `subscription_ends`. */
export interface EndRow {
  readonly id: string
  /** Null for a denial. */
  readonly subscription: number | null
  readonly topic: string
  readonly endpoint: string
  readonly sequence: number
  readonly attempt: number
  readonly result: number
  readonly message: string
  readonly answer: string | null
  readonly latency: number | null
  readonly bytes: number | null
}

/** Columns of an `EndRow` from `subscription_ends` e. */
export const endSelect =
  `e.id::text as id, e.subscription_id::float8 as subscription, e.topic, e.endpoint, e.sequence::float8 as sequence, e.attempt, e.result,
  e.message, e.answer, e.latency, e.bytes`

export const attemptOf = (row: AttemptRow): LoggedAttempt => ({
  outcome: outcomeOf(row.result),
  ...eventOf(row, formatLogId(row.id, { subscriptionId: row.subscription, slot: row.slot })),
  subscriptionId: row.subscription,
  sequence: row.sequence,
  attempt: row.attempt,
  ...(row.notification !== null && {
    notificationId: formatNotificationId({
      notificationId: row.notification,
      subscriptionId: row.subscription,
      sequence: row.sequence,
      isPart: row.part
    })
  }),
  ...(row.next !== null && { nextTry: row.next })
})

export const endOf = (row: EndRow): LoggedAttempt | LoggedDenial => {
  const event = eventOf(row, formatLogId(row.id))
  if (row.subscription === null) return { outcome: "denied", ...event }
  const { attempt, sequence, subscription } = row
  return { outcome: "ended", ...event, subscriptionId: subscription, sequence, attempt }
}

const outcomeOf = (result: number): LoggedAttempt["outcome"] => {
  if (result < 0) return "dropped"
  if (result === silentResults.bounced) return "bounced"
  return isSuccess(result) ? "delivered" : "failed"
}

const eventOf = (
  row: Pick<EndRow, "id" | "endpoint" | "result" | "answer" | "latency" | "bytes"> & {
    readonly topic: string | null
    readonly message: string | null
  },
  id: string
) => {
  const result = Math.abs(row.result)
  const code = result >= firstStatus ? result : 0
  return {
    id,
    topic: row.topic ?? "",
    endpoint: row.endpoint,
    triedAt: timeOfPosition(BigInt(row.id)),
    code,
    message: row.message ?? (code === 0 ? acceptedSentence : statusSentence(code)),
    ...(!isSuccess(result) && { reason: code === 0 ? silentReasons.get(result) ?? "protocol" : reasonOfStatus(code) }),
    ...(row.answer !== null && { answer: row.answer }),
    ...(row.latency !== null && { latency: row.latency }),
    ...(row.bytes !== null && { bytes: row.bytes })
  }
}
