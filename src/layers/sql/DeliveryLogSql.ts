import { Clock, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { describeAnswer, placeOfSuccess } from "#domain/delivery/Delivery.ts"
import {
  DeliveryLog,
  type DeliveryTry,
  type Denied,
  type End,
  maxEnds,
  maxSuccesses
} from "#domain/ports/DeliveryLog.ts"
import type { DeliveryAnswer } from "#domain/ports/Deliverer.ts"
import { column, instant, legalText, millis } from "./Values.ts"
import { run } from "./Query.ts"

/** An end is kept for so many ms, as the tries are. */
const endsKeptFor = 7 * 24 * 60 * 60_000

interface TryRow {
  readonly subscription: number | null
  readonly topic: string
  readonly endpoint: string
  readonly sequence: number
  readonly attempt: number
  readonly tried: number
  readonly fate: DeliveryTry["fate"] | Denied["fate"]
  readonly code: number
  readonly message: string
  readonly latency: number | null
  readonly next: number | null
}

interface Success {
  readonly sequence: number
  readonly attempt: number
  readonly triedAt: number
  readonly answer: DeliveryAnswer
}

export const layer = Layer.effect(
  DeliveryLog,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    /** By subscription. */
    const successes = new Map<number, Success>()

    const list = Effect.fn("DeliveryLog.list")(
      function*({ accountId, limit }: { readonly accountId?: number; readonly limit: number }) {
        const rows = yield* run(
          sql.unsafe<TryRow>(
            `select subscription::float8 as subscription, topic, endpoint, sequence::float8 as sequence, attempt,
              ${millis("tried_at")} as tried, fate, code, message, latency, ${millis("next_try")} as next
            from (
              (select l.subscription_id as subscription, s.topic, s.endpoint, l.sequence, l.attempt, l.tried_at,
                case when l.place = ${placeOfSuccess} then 'delivered' when l.attempt = 0 then 'bounced' else 'failed' end as fate, l.code, l.message, l.latency, l.next_try
              from delivery_log l join subscriptions s on s.id = l.subscription_id
              where $1::int4 is null or s.account_id = $1::int4
              order by l.tried_at desc, l.subscription_id, l.sequence desc, l.attempt desc limit $2::int4)
              union all
              (select e.subscription_id, e.topic, e.endpoint, e.sequence, e.attempt, e.tried_at,
                case when e.subscription_id is null then 'denied' else 'ended' end, e.code, e.message, e.latency, null
              from delivery_ends e where $1::int4 is null or e.account_id = $1::int4
              order by e.tried_at desc limit $2::int4)
            ) tries
            order by tried_at desc, subscription, sequence desc, attempt desc limit $2::int4`,
            [accountId ?? null, limit]
          ).unprepared
        )
        return rows.map(tryOf)
      }
    )

    const write = Effect.fnUntraced(function*(rows: ReadonlyArray<readonly [number, Success]>) {
      const answers = rows.map(([, { answer }]) => describeAnswer(answer))
      yield* run(sql.unsafe(
        `insert into delivery_log (subscription_id, place, sequence, attempt, tried_at, code, message, latency)
        select id, ${placeOfSuccess}, sequence, attempt, ${instant("tried")}, code, message, latency
        from unnest($1::int8[], $2::int8[], $3::int4[], $4::float8[], $5::int4[], $6::text[], $7::int4[])
          p(id, sequence, attempt, tried, code, message, latency)
        on conflict (subscription_id, place) do update set sequence = excluded.sequence, attempt = excluded.attempt,
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
    })

    const flush = Effect.suspend(() => {
      const rows = [...successes]
      successes.clear()
      return rows.length === 0 ? Effect.void : write(rows)
    })

    const ended = Effect.fn("DeliveryLog.ended")(function*(end: End) {
      yield* run(sql.unsafe(
        `insert into delivery_ends (account_id, subscription_id, topic, endpoint, sequence, attempt, tried_at, code, message, latency)
        select id, $2::int8, $3, $4, $5::int8, $6::int2, ${
          instant("$7::float8")
        }, $8::int2, $9, $10::int4 from accounts where id = $1::int4`,
        [
          end.accountId,
          ...end.fate === "ended"
            ? [BigInt(end.subscriptionId), end.topic, end.endpoint, BigInt(end.sequence), end.attempt]
            : [null, end.topic, end.endpoint, null, null],
          yield* Clock.currentTimeMillis,
          end.code,
          legalText(end.message),
          end.latency ?? null
        ]
      ))
    })

    const prune = Effect.gen(function*() {
      const before = (yield* Clock.currentTimeMillis) - endsKeptFor
      yield* run(sql.unsafe(
        `delete from delivery_ends where tried_at < ${instant("$1::float8")} or id in (
          select id from (select id, row_number() over (partition by account_id order by id desc) as place from delivery_ends) ends
          where place > ${maxEnds}
        )`,
        [before]
      ))
    })

    const loop = <A>(what: string, step: typeof flush, spacing: Schedule.Schedule<A>) =>
      step.pipe(
        Effect.catchTag("StoreError", (error) => Effect.logWarning(`${what}: ${error.message}`)),
        Effect.repeat(spacing),
        Effect.forkScoped
      )
    yield* loop("successful deliveries are not logged", flush, Schedule.spaced("1 second"))
    yield* loop("old ends of subscriptions are not deleted yet", prune, Schedule.spaced("10 minutes"))
    yield* Effect.addFinalizer(() => Effect.ignore(flush))

    return DeliveryLog.of({
      list,
      delivered: ({ attempt, sequence, subscriptionId }, answer) =>
        Effect.map(Clock.currentTimeMillis, (triedAt) => {
          if (successes.size === maxSuccesses && !successes.has(subscriptionId)) return
          successes.set(subscriptionId, { sequence, attempt: attempt + 1, triedAt, answer })
        }),
      ended,
      flush
    })
  })
)

const tryOf = (row: TryRow): DeliveryTry | Denied => {
  const tried = {
    topic: row.topic,
    endpoint: row.endpoint,
    triedAt: row.tried,
    code: row.code,
    message: row.message,
    ...(row.latency !== null && { latency: row.latency })
  }
  if (row.fate === "denied" || row.subscription === null) return { fate: "denied", ...tried }
  return {
    fate: row.fate,
    subscriptionId: row.subscription,
    sequence: row.sequence,
    attempt: row.attempt,
    ...tried,
    ...(row.next !== null && { nextTry: row.next })
  }
}
