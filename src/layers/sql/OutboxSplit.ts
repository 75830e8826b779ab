import { Clock, Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { AttemptResult, Delivery } from "#domain/delivery/Notification.ts"
import { splitRun } from "#domain/delivery/SequenceRuns.ts"
import { insertFailures, resultOfFailure, storedMessage } from "./DeliveryLogRows.ts"
import { retryConflicts, run } from "./Query.ts"
import { type SequenceRunRow, sequenceRunSelect, sequenceRunsOf, sequenceRunValues } from "./SequenceRunColumns.ts"
import { instant } from "./Values.ts"

/** Splits a waiting delivery in two, see `Outbox.split`. */
export const splitDelivery = (sql: SqlClient.SqlClient) =>
  Effect.fn("Outbox.split")((delivery: Delivery, attempt: AttemptResult) =>
    run(retryConflicts(sql.withTransaction(split(sql, delivery, attempt))))
  )

const split = Effect.fnUntraced(function*(sql: SqlClient.SqlClient, delivery: Delivery, attempt: AttemptResult) {
  const subscriptionId = BigInt(delivery.subscriptionId)
  const sequence = BigInt(delivery.sequence)
  yield* sql.unsafe(lockSql, [subscriptionId])
  const [locked] = yield* sql.unsafe<SequenceRunRow>(takeNumberSql, [subscriptionId, BigInt(delivery.id), sequence])
  if (locked === undefined) {
    const unsplit = yield* sql.unsafe(unsplitSql, [BigInt(delivery.id), sequence])
    return unsplit.length === 0
  }
  yield* sql.unsafe(writeRunsSql, [
    subscriptionId,
    ...sequenceRunValues(splitRun(sequenceRunsOf(locked), delivery.sequence))
  ])
  yield* sql.unsafe(logSql, [
    BigInt(delivery.id),
    yield* Clock.currentTimeMillis,
    delivery.attempt + 1,
    resultOfFailure(attempt),
    storedMessage(attempt),
    attempt.answer ?? null,
    attempt.latency ?? null,
    attempt.bytes ?? null
  ])
  yield* sql.unsafe(hideNumbersSql, [subscriptionId, sequence])
  yield* sql.unsafe(moveNumbersSql, [subscriptionId])
  yield* sql.unsafe(insertOlderHalfSql, [BigInt(delivery.id), sequence])
  yield* sql.unsafe(keepNewerHalfSql, [BigInt(delivery.id)])
  return true
})

/** No new delivery is numbered meanwhile. A statement of its own, because only later statements see the deliveries of earlier lock holders. */
const lockSql = "select from subscriptions where id = $1::int8 for no key update"

/** Waiting and dropped deliveries of the subscription. Each state has an index of its own. */
const deliveriesWhere = (condition: string) =>
  [0, 1].map((state) => `(subscription_id = $1::int8 and state = ${state} and ${condition})`).join(" or ")

/**
 * Selects nothing when the delivery has moved already, because the answer to an earlier call was lost. Selects nothing either when the outbox
 * lacks a later sequence, or when the callback accepted this or a later one before: a sequence may not name another notification.
 */
const takeNumberSql = `
  update subscriptions u set next_sequence = next_sequence + 1
  where id = $1::int8 and exists (
    select from deliveries d join notifications n on n.id = d.notification_id
    where d.id = $2::int8 and d.sequence = $3::int8 and d.state = 0 and cardinality(coalesce(d.entry_seqs, n.entry_seqs)) > 1
  ) and next_sequence - $3::int8 = (select count(*) from deliveries where ${
  deliveriesWhere("sequence >= $3::int8 and not resent")
})
  returning ${sequenceRunSelect}`

const unsplitSql = "select from deliveries where id = $1::int8 and sequence = $2::int8 and state = 0"

const writeRunsSql =
  "update subscriptions set run_start = $2::int8, run_offset = $3::int8, earlier_runs = $4::float8[]::int8[] where id = $1::int8"

/** The unique indexes check each row, so that the rows leave the range of sequences before they return with the next ones. */
const hideNumbersSql = `update deliveries set sequence = -sequence where ${deliveriesWhere("sequence >= $2::int8")}`

const moveNumbersSql = `update deliveries set sequence = 1 - sequence where ${deliveriesWhere("sequence < 0")}`

/** Entries are stored newest first, so that the older half is the second one. Of an odd number, the newer half has one more. */
const insertOlderHalfSql = `
  insert into deliveries (notification_id, subscription_id, sequence, partition, credits, due_at, created_at, entry_seqs)
  select d.notification_id, d.subscription_id, $2::int8, d.partition, d.credits, d.due_at, d.created_at,
    s.seqs[(cardinality(s.seqs) + 1) / 2 + 1:]
  from deliveries d join notifications n on n.id = d.notification_id
    cross join lateral (select coalesce(d.entry_seqs, n.entry_seqs) as seqs) s
  where d.id = $1::int8`

const keepNewerHalfSql = `
  update deliveries d set attempt = 0, requested_wait = null, entry_seqs = s.seqs[:(cardinality(s.seqs) + 1) / 2]
  from notifications n, lateral (
    select coalesce(o.entry_seqs, n.entry_seqs) as seqs from deliveries o where o.id = $1::int8
  ) s
  where d.id = $1::int8 and n.id = d.notification_id`

/** The attempt with the whole delivery, before it is split. The halves are sent at once. */
const logSql = `
  with failed as (
    select d.subscription_id, d.sequence, d.notification_id, d.entry_seqs is not null as is_part, d.credits, $3::int4 as attempt,
      $4::int4 as result, $5::text as message, $6::text as answer, $7::int4 as latency, $8::int4 as bytes,
      ${instant("$2::float8")} as next_try
    from deliveries d where d.id = $1::int8
  )
  ${insertFailures("$2::float8")}`
