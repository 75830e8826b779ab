import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { DeliveryLog, type FailedTry } from "#domain/ports/DeliveryLog.ts"
import { millis } from "./sql/Values.ts"
import { ask } from "./SqlFailure.ts"

interface TryRow {
  readonly subscription: number
  readonly topic: string
  readonly endpoint: string
  readonly sequence: number
  readonly attempt: number
  readonly failed: number
  readonly code: number
  readonly message: string
  readonly latency: number | null
  readonly next: number | null
}

export const layer = Layer.effect(
  DeliveryLog,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    return DeliveryLog.of({
      list: Effect.fn("DeliveryLog.list")(function*({ accountId, limit }) {
        const rows = yield* ask(
          sql.unsafe<TryRow>(
            `select l.subscription_id::float8 as subscription, s.topic, s.endpoint, l.sequence::float8 as sequence, l.attempt,
              ${millis("l.failed_at")} as failed, l.code, l.message, l.latency, ${millis("l.next_try")} as next
            from delivery_log l join subscriptions s on s.id = l.subscription_id
            where $1::int4 is null or s.account_id = $1::int4
            order by l.failed_at desc, l.subscription_id, l.sequence desc, l.attempt desc limit $2::int4`,
            [accountId ?? null, limit]
          ).unprepared
        )
        return rows.map(tryOf)
      })
    })
  })
)

const tryOf = (row: TryRow): FailedTry => ({
  subscriptionId: row.subscription,
  topic: row.topic,
  endpoint: row.endpoint,
  sequence: row.sequence,
  attempt: row.attempt,
  failedAt: row.failed,
  code: row.code,
  message: row.message,
  ...(row.latency !== null && { latency: row.latency }),
  ...(row.next !== null && { nextTry: row.next })
})
