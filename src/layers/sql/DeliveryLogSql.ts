import { Clock, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { describeResponse, successSlot } from "#domain/delivery/Delivery.ts"
import {
  DeliveryLog,
  type LoggedAttempt,
  type LoggedDenial,
  maxSuccesses,
  type SubscriptionEnd
} from "#domain/ports/DeliveryLog.ts"
import type { DeliveryResponse } from "#domain/ports/Deliverer.ts"
import { repeatInBackground } from "./Background.ts"
import { column, instant, legalText, millis } from "./Values.ts"
import { run } from "./Query.ts"

interface TryRow {
  readonly subscription: number | null
  readonly topic: string
  readonly endpoint: string
  readonly sequence: number
  readonly attempt: number
  readonly tried: number
  readonly outcome: LoggedAttempt["outcome"] | LoggedDenial["outcome"]
  readonly code: number
  readonly message: string
  readonly latency: number | null
  readonly next: number | null
}

interface LastSuccess {
  readonly sequence: number
  readonly attempt: number
  readonly triedAt: number
  readonly answer: DeliveryResponse
}

export const layer = Layer.effect(
  DeliveryLog,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    /** By subscription. */
    const successes = new Map<number, LastSuccess>()
    const flush = Effect.suspend(() => {
      const rows = [...successes]
      successes.clear()
      return rows.length === 0 ? Effect.void : writeSuccesses(sql, rows)
    })
    yield* repeatInBackground(flush, Schedule.spaced("1 second"), "Successful deliveries are not logged")
    yield* Effect.addFinalizer(() => Effect.ignore(flush))
    return DeliveryLog.of({
      list: list(sql),
      recordDelivery: ({ attempt, sequence, subscriptionId }, answer) =>
        Effect.map(Clock.currentTimeMillis, (triedAt) => {
          if (successes.size === maxSuccesses && !successes.has(subscriptionId)) return
          successes.set(subscriptionId, { sequence, attempt: attempt + 1, triedAt, answer })
        }),
      recordEnd: insertEnd(sql),
      flush
    })
  })
)

const list = (sql: SqlClient.SqlClient) =>
  Effect.fn("DeliveryLog.list")(
    function*({ accountId, limit }: { readonly accountId?: number; readonly limit: number }) {
      const rows = yield* run(sql.unsafe<TryRow>(listSql, [accountId ?? null, limit]).unprepared)
      return rows.map(tryOf)
    }
  )

const listSql = `
  select subscription::float8 as subscription, topic, endpoint, sequence::float8 as sequence, attempt,
    ${millis("tried_at")} as tried, outcome, code, message, latency, ${millis("next_try")} as next
  from (
    (select l.subscription_id as subscription, s.topic, s.endpoint, l.sequence, l.attempt, l.tried_at,
      case when l.slot = ${successSlot} then 'delivered' when l.attempt = 0 then 'bounced' else 'failed' end as outcome,
      l.code, l.message, l.latency, l.next_try
    from delivery_log l join subscriptions s on s.id = l.subscription_id
    where $1::int4 is null or s.account_id = $1::int4
    order by l.tried_at desc, l.subscription_id, l.sequence desc, l.attempt desc limit $2::int4)
    union all
    (select e.subscription_id, e.topic, e.endpoint, e.sequence, e.attempt, e.tried_at,
      case when e.subscription_id is null then 'denied' else 'ended' end, e.code, e.message, e.latency, null
    from subscription_ends e where $1::int4 is null or e.account_id = $1::int4
    order by e.tried_at desc limit $2::int4)
  ) tries
  order by tried_at desc, subscription, sequence desc, attempt desc limit $2::int4`

const writeSuccesses = Effect.fnUntraced(
  function*(sql: SqlClient.SqlClient, rows: ReadonlyArray<readonly [number, LastSuccess]>) {
    const answers = rows.map(([, { answer }]) => describeResponse(answer))
    yield* run(sql.unsafe(
      `insert into delivery_log (subscription_id, slot, sequence, attempt, tried_at, code, message, latency)
      select id, ${successSlot}, sequence, attempt, ${instant("tried")}, code, message, latency
      from unnest($1::int8[], $2::int8[], $3::int4[], $4::float8[], $5::int4[], $6::text[], $7::int4[])
        p(id, sequence, attempt, tried, code, message, latency)
      on conflict (subscription_id, slot) do update set sequence = excluded.sequence, attempt = excluded.attempt,
        tried_at = excluded.tried_at, code = excluded.code, message = excluded.message, latency = excluded.latency`,
      [
        column.ids(rows.map(([id]) => id)),
        column.ids(rows.map(([, { sequence }]) => sequence)),
        column.integers(rows.map(([, { attempt }]) => attempt)),
        column.numbers(rows.map(([, { triedAt }]) => triedAt)),
        column.integers(answers.map(({ code }) => code)),
        column.texts(answers.map(({ message }) => message)),
        column.integers(answers.map(({ latency }) => latency))
      ]
    ))
  }
)

const insertEnd = (sql: SqlClient.SqlClient) =>
  Effect.fn("DeliveryLog.recordEnd")(function*(end: SubscriptionEnd) {
    yield* run(sql.unsafe(
      `insert into subscription_ends (account_id, subscription_id, topic, endpoint, sequence, attempt, tried_at, code, message, latency)
      select id, $2::int8, $3, $4, $5::int8, $6::int2,
      ${instant("$7::float8")}, $8::int2, $9, $10::int4 from accounts where id = $1::int4`,
      [
        end.accountId,
        ...end.outcome === "ended"
          ? [BigInt(end.subscriptionId), end.topic, end.endpoint, BigInt(end.sequence), end.attempt]
          : [null, end.topic, end.endpoint, null, null],
        yield* Clock.currentTimeMillis,
        end.code,
        legalText(end.message),
        end.latency ?? null
      ]
    ))
  })

const tryOf = (row: TryRow): LoggedAttempt | LoggedDenial => {
  const tried = {
    topic: row.topic,
    endpoint: row.endpoint,
    triedAt: row.tried,
    code: row.code,
    message: row.message,
    ...(row.latency !== null && { latency: row.latency })
  }
  if (row.outcome === "denied" || row.subscription === null) return { outcome: "denied", ...tried }
  return {
    outcome: row.outcome,
    subscriptionId: row.subscription,
    sequence: row.sequence,
    attempt: row.attempt,
    ...tried,
    ...(row.next !== null && { nextTry: row.next })
  }
}
