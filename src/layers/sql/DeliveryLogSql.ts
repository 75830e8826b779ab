import { Clock, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import {
  firstSuccessSlot,
  maxRecorded,
  maxRecordings,
  maxSuccesses,
  successSlotOf
} from "#domain/delivery/DeliveryLogEntry.ts"
import type { AttemptResult, Delivery } from "#domain/delivery/Notification.ts"
import { DeliveryLog, maxSuccessesPerSecond, type SubscriptionEnd } from "#domain/ports/DeliveryLog.ts"
import { repeatInBackground } from "./Background.ts"
import { findDelivery } from "./DeliveryLogDetail.ts"
import { listDeliveries } from "./DeliveryLogPages.ts"
import { insertSuccesses, positionAt, resultOfFailure, resultOfSuccess } from "./DeliveryLogRows.ts"
import { sqlWithGenericPlans } from "./GenericPlans.ts"
import { run } from "./Query.ts"
import { column, instant, legalText } from "./Values.ts"

/** A success that waits for its statement. Holds no notification, whose document may be large. */
interface WaitingSuccess {
  readonly subscriptionId: number
  readonly sequence: number
  readonly attempt: number
  readonly notificationId: number
  readonly isPart: boolean
  readonly credits: number
  readonly triedAt: number
  readonly result: AttemptResult
}

/** Maximum of successes of recorded subscriptions in a statement. */
const maxRecordedPerSecond = 2_000

export const layer = Layer.effect(
  DeliveryLog,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const genericSql = yield* sqlWithGenericPlans
    const buffer = makeBuffer()
    const flush = Effect.suspend(() => {
      const successes = buffer.takeAll()
      return successes.length === 0
        ? Effect.void
        : Effect.map(writeSuccesses(genericSql, successes), (rows) => buffer.setRecorded(rows.map(({ id }) => id)))
    })
    yield* repeatInBackground(flush, Schedule.spaced("1 second"), "Successful deliveries are not logged")
    yield* Effect.addFinalizer(() => Effect.ignore(flush))
    return DeliveryLog.of({
      list: listDeliveries(sql),
      find: findDelivery(sql),
      startRecording: (target, until) =>
        Effect.tap(startRecording(sql)(target, until), (result) =>
          Effect.sync(() => {
            if (result === "started") buffer.addRecorded(target.subscriptionId)
          })),
      recordDelivery: (delivery, result) =>
        Effect.map(Clock.currentTimeMillis, (triedAt) => buffer.add(delivery, result, triedAt)),
      recordEnd: insertEnd(sql),
      flush
    })
  })
)

/** Successes of a second, by slot: a later one takes the slot of an earlier one, as in the table. */
const makeBuffer = () => {
  const bySlot = new Map<number, WaitingSuccess>()
  let recorded = new Set<number>()
  let recordedCount = 0

  const hasRoom = (isRecorded: boolean): boolean =>
    isRecorded ? recordedCount < maxRecordedPerSecond : bySlot.size - recordedCount < maxSuccessesPerSecond

  const add = (delivery: Delivery, result: AttemptResult, triedAt: number): void => {
    const { attempt, credits, isPart = false, notification, sequence, subscriptionId } = delivery
    const isRecorded = recorded.has(subscriptionId)
    const slot = successSlotOf(sequence, isRecorded) - firstSuccessSlot
    const key = subscriptionId * maxRecorded + slot
    if (!bySlot.has(key)) {
      if (!hasRoom(isRecorded)) return
      if (isRecorded) recordedCount++
    }
    const notificationId = notification.id
    bySlot.set(key, { subscriptionId, sequence, attempt, notificationId, isPart, credits, triedAt, result })
  }

  const takeAll = (): ReadonlyArray<WaitingSuccess> => {
    const all = [...bySlot.values()]
    bySlot.clear()
    recordedCount = 0
    return all
  }

  return {
    add,
    takeAll,
    addRecorded: (id: number) => void recorded.add(id),
    setRecorded: (ids: ReadonlyArray<number>) => void (recorded = new Set(ids))
  }
}

/** Writes successes, and returns the subscriptions that are recorded. */
const writeSuccesses = Effect.fnUntraced(
  function*(sql: SqlClient.SqlClient, successes: ReadonlyArray<WaitingSuccess>) {
    return yield* run(sql.unsafe<{ readonly id: number }>(
      `with succeeded as (
        select p.*, ${maxSuccesses} as ring
        from unnest($1::int8[], $2::int8[], $3::int4[], $4::int8[], $5::int4[], $6::int8[], $7::bool[], $8::int8[], $9::int4[], $10::int4[])
          p(id, sequence, attempt, tried, result, notification, part, credits, latency, bytes)
      ), written as (${insertSuccesses("$1", "$11::float8")})
      select subscription_id::float8 as id from delivery_recordings where until > ${instant("$11::float8")}`,
      [
        column.ids(successes.map(({ subscriptionId }) => subscriptionId)),
        column.ids(successes.map(({ sequence }) => sequence)),
        column.integers(successes.map(({ attempt }) => attempt + 1)),
        column.ids(successes.map(({ triedAt }) => triedAt)),
        column.integers(successes.map(({ result }) => resultOfSuccess(result))),
        column.ids(successes.map(({ notificationId }) => notificationId)),
        column.booleans(successes.map(({ isPart }) => isPart)),
        column.ids(successes.map(({ credits }) => credits)),
        column.integers(successes.map(({ result }) => result.latency)),
        column.integers(successes.map(({ result }) => result.bytes)),
        yield* Clock.currentTimeMillis
      ]
    ))
  }
)

const insertEnd = (sql: SqlClient.SqlClient) =>
  Effect.fn("DeliveryLog.recordEnd")(function*(end: SubscriptionEnd) {
    yield* run(sql.unsafe(
      `insert into subscription_ends (id, account_id, subscription_id, topic, endpoint, host, sequence, attempt, result, message, answer,
        latency, bytes)
      select ${
        positionAt("$2::float8")
      }, a.id, $3::int8, $4, $5, $6, $7::int8, $8::int2, $9::int2, $10, $11, $12::int4, $13::int4
      from accounts a where a.id = $1::int4`,
      [
        end.accountId,
        yield* Clock.currentTimeMillis,
        end.outcome === "ended" ? BigInt(end.subscriptionId) : null,
        end.topic,
        end.endpoint,
        end.host,
        ...end.outcome === "ended" ? [BigInt(end.sequence), end.attempt] : [null, null],
        resultOfFailure(end),
        legalText(end.message),
        end.answer === undefined ? null : legalText(end.answer),
        end.latency ?? null,
        end.bytes ?? null
      ]
    ))
  })

/** Locks the account, so that parallel requests keep its limit. */
const startRecording = (sql: SqlClient.SqlClient) =>
  Effect.fn("DeliveryLog.startRecording")(
    function*(target: { readonly accountId?: number; readonly subscriptionId: number }, until: number) {
      const now = yield* Clock.currentTimeMillis
      const id = BigInt(target.subscriptionId)
      return yield* run(sql.withTransaction(Effect.gen(function*() {
        const [owner] = yield* sql.unsafe<{ account: number }>(
          `select a.id as account from subscriptions u join accounts a on a.id = u.account_id
          where u.id = $1::int8 and ($2::int4 is null or a.id = $2::int4) for update of a`,
          [id, target.accountId ?? null]
        )
        if (owner === undefined) return "unknown"
        yield* sql.unsafe(
          `delete from delivery_recordings where account_id = $1::int4 and until <= ${instant("$2::float8")}`,
          [owner.account, now]
        )
        const rows = yield* sql.unsafe(
          `insert into delivery_recordings (subscription_id, account_id, until)
          select $1::int8, $2::int4, ${instant("$3::float8")}
          where (select count(*) from delivery_recordings where account_id = $2::int4 and subscription_id <> $1::int8) < ${maxRecordings}
          on conflict (subscription_id) do update set until = excluded.until returning 1`,
          [id, owner.account, until]
        )
        return rows.length === 0 ? "too-many" : "started"
      })))
    }
  )
