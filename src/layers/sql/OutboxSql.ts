import { Clock, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { type AttemptResult, attemptText, type Delivery } from "#domain/delivery/Notification.ts"
import { maxMeasured, Outbox } from "#domain/ports/Outbox.ts"
import { makeWriteBehind } from "./Background.ts"
import { batched } from "./Batched.ts"
import { insertFailures, resultOfFailure, storedMessage } from "./DeliveryLogRows.ts"
import { commitsLater, isOneOf } from "./Conditions.ts"
import { sqlWithGenericPlans } from "./GenericPlans.ts"
import { makeReadBacklog } from "./OutboxBacklog.ts"
import { splitDelivery } from "./OutboxSplit.ts"
import { run } from "./Query.ts"
import { column, farFuture, instant, millis } from "./Values.ts"

interface FailedAttempt {
  readonly delivery: Delivery
  readonly attempt: AttemptResult
  /** Undefined: the delivery is dropped. */
  readonly dueAt: number | undefined
}

export const layer = Layer.effect(
  Outbox,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const genericSql = yield* sqlWithGenericPlans
    const { add: confirm, flush, unwritten: confirmed } = yield* makeConfirmed(genericSql)
    const readBacklog = makeReadBacklog(genericSql, confirmed)
    const writeFailure = makeWriteFailure(genericSql)
    const split = splitDelivery(sql)
    return Outbox.of({
      backlog: (id, count, bytes = Infinity) => readBacklog({ id, count, bytes }),
      confirm,
      confirmPart: confirmPart(genericSql),
      postpone: (delivery, dueAt, attempt) => Effect.asVoid(writeFailure({ delivery, dueAt, attempt })),
      drop: (delivery, attempt) => Effect.asVoid(writeFailure({ delivery, dueAt: undefined, attempt })),
      // A confirmed delivery may not count as waiting.
      split: (delivery, attempt) => Effect.andThen(flush, split(delivery, attempt)),
      dropOlder: dropOlder(genericSql),
      hold: hold(genericSql),
      restartWaiting: restartWaiting(genericSql),
      findStalled: selectStalled(sql),
      measure: measure(sql),
      flush
    })
  })
)

/** Deletes confirmed deliveries. */
const makeConfirmed = (sql: SqlClient.SqlClient) =>
  makeWriteBehind<number>({
    delayMs: 50,
    flushAt: 256,
    dropsDefects: false, // a forgotten confirmation would send the notification again and again
    warning: "Confirmed deliveries are not deleted yet; retrying",
    write: (ids) =>
      run(sql.unsafe(`delete from deliveries where id = any($1::int8[]) and ${commitsLater}`, [column.ids(ids)]))
  })

/** Time of the row as for a dropped delivery: retention deletes the row a day later. */
const confirmPart = (sql: SqlClient.SqlClient) =>
  Effect.fn("Outbox.confirmPart")(function*(deliveryId: number) {
    yield* run(sql.unsafe(
      `update deliveries set state = 2, due_at = ${instant("$2::float8")} where id = $1::int8`,
      [BigInt(deliveryId), yield* Clock.currentTimeMillis]
    ))
  })

/** Stores failed attempts in the outbox and in the delivery log. */
const makeWriteFailure = (sql: SqlClient.SqlClient) =>
  batched<FailedAttempt, true>({
    maxInputs: 500,
    run: Effect.fnUntraced(function*(failures) {
      const now = yield* Clock.currentTimeMillis
      yield* run(sql.unsafe(writeFailuresSql, [
        column.ids(failures.map(({ delivery }) => delivery.id)),
        column.integers(failures.map(({ delivery }) => delivery.attempt + 1)),
        column.integers(failures.map(({ dueAt }) => dueAt === undefined ? 1 : 0)),
        column.numbers(failures.map(({ dueAt }) => dueAt)),
        column.integers(failures.map(({ attempt }) => attempt.code)),
        column.texts(failures.map(({ attempt }) => attemptText(attempt))),
        now,
        column.numbers(failures.map(({ delivery }) => delivery.requestedWait)),
        column.integers(
          failures.map(({ attempt, dueAt }) => (dueAt === undefined ? -1 : 1) * resultOfFailure(attempt))
        ),
        column.texts(failures.map(({ attempt }) => storedMessage(attempt))),
        column.texts(failures.map(({ attempt }) => attempt.answer)),
        column.integers(failures.map(({ attempt }) => attempt.latency)),
        column.integers(failures.map(({ attempt }) => attempt.bytes))
      ]))
      return failures.map(() => true)
    })
  })

/** The sum keeps PostgreSQL from the index of waiting deliveries, which a plan over few of these would read as a whole. */
const writeFailuresSql = `
  with failed as (
    update deliveries d set attempt = p.attempt, state = p.state, due_at = coalesce(${instant("p.due")}, d.due_at),
      requested_wait = p.wait, last_code = p.code, last_error = p.error
    from unnest($1::int8[], $2::int4[], $3::int4[], $4::float8[], $5::int4[], $6::text[], $8::float8[], $9::int4[], $10::text[],
        $11::text[], $12::int4[], $13::int4[])
      p(id, attempt, state, due, code, error, wait, result, message, answer, latency, bytes)
    where d.id = p.id and ${isOneOf("d.id", "$1")} and d.state + 0 = 0
    returning d.subscription_id, d.sequence, d.notification_id, d.entry_seqs is not null as is_part, d.credits, p.attempt, p.result,
      p.message, p.answer, p.latency, p.bytes, ${instant("p.due")} as next_try
  )
  ${insertFailures("$7::float8")}`

const dropOlder = (sql: SqlClient.SqlClient) =>
  Effect.fn("Outbox.dropOlder")(function*(subscriptionId: number, before: number) {
    const rows = yield* run(sql.unsafe(
      `update deliveries set state = 1 where subscription_id = $1::int8 and state = 0
        and created_at <= ${instant("$2::float8")} returning 1`,
      [BigInt(subscriptionId), before]
    ))
    return rows.length
  })

const hold = (sql: SqlClient.SqlClient) =>
  Effect.fn("Outbox.hold")(function*(subscriptionId: number, dueAt: number, waitMs: number) {
    yield* run(sql.unsafe(
      `update deliveries set due_at = ${instant("$2::float8")}, requested_wait = $3::int4 where id = (
        select id from deliveries where subscription_id = $1::int8 and state = 0 order by sequence limit 1
      )`,
      [BigInt(subscriptionId), dueAt, waitMs]
    ))
  })

const restartWaiting = (sql: SqlClient.SqlClient) =>
  Effect.fn("Outbox.restartWaiting")(function*(subscriptionId: number, since: number) {
    yield* run(sql.unsafe(
      `update deliveries set created_at = ${instant("$2::float8")}
      where subscription_id = $1::int8 and state = 0 and created_at < ${instant("$2::float8")}`,
      [BigInt(subscriptionId), since]
    ))
  })

const measure = (sql: SqlClient.SqlClient) =>
  Effect.map(
    run(sql.unsafe<{ waiting: number; oldest: number | null }>(
      `select count(*)::float8 as waiting, ${millis("min(created_at)")} as oldest
      from (select created_at from deliveries where state = 0 limit $1::int4) waiting`,
      [maxMeasured]
    )),
    ([row]) => ({ waiting: row?.waiting ?? 0, oldestAt: row?.oldest ?? undefined })
  )

/**
 * The first waiting delivery of each subscription of some partitions.
 *
 * The index of partitions leads from one subscription to the next, so that the deliveries behind a dead callback cost nothing. The ranges
 * leave the planner no other index for the order: an equal partition would let it read all deliveries in the order of subscriptions.
 */
const selectStalledSql = `
  with recursive heads as (
    select p.partition, h.* from unnest($1::int4[]::int2[]) p(partition) cross join lateral (
      select d.subscription_id, d.due_at from deliveries d
      where d.partition >= p.partition and d.partition <= p.partition and d.state = 0
      order by d.partition, d.subscription_id, d.sequence limit 1
    ) h
    union all
    select heads.partition, h.* from heads cross join lateral (
      select d.subscription_id, d.due_at from deliveries d
      where (d.partition, d.subscription_id) > (heads.partition, heads.subscription_id) and d.partition <= heads.partition
        and d.state = 0
      order by d.partition, d.subscription_id, d.sequence limit 1
    ) h
  )
  select heads.partition, heads.subscription_id::float8 as "subscriptionId" from heads
  cross join lateral (select from subscriptions s where s.id = heads.subscription_id and s.state = 1 limit 1) s
  where heads.due_at < ${instant("$2::float8")}`

const selectStalled = (sql: SqlClient.SqlClient) =>
  Effect.fn("Outbox.findStalled")(function*(partitions: ReadonlyArray<number>, before: number) {
    return yield* run(sql.unsafe<{ partition: number; subscriptionId: number }>(selectStalledSql, [
      column.integers(partitions),
      Math.min(before, farFuture)
    ]))
  })
