import { Clock, Effect, Schedule } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { maxEnds } from "#domain/ports/DeliveryLog.ts"
import { maxTurnDelayMs } from "#domain/ports/VerificationQueue.ts"
import { repeatInBackground } from "./Background.ts"
import { run } from "./Query.ts"
import { instant } from "./Values.ts"

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const weekMs = 7 * 24 * hourMs

/** Rows of one delete. A larger statement would hold up others. */
const maxRows = 5_000

/**
 * Deletes old rows until the scope closes.
 *
 * * notifications without a waiting delivery: after 24 h, with a document after 1 h. Streams resume from them.
 * * tries of deliveries, ends of subscriptions and pings: after 7 days
 * * replays: within 5 s of their delivery; dropped replays after 1 h
 * * times of verification requests: after a minute, because then they no longer limit a site
 */
export const startPruning = Effect.fnUntraced(function*(sql: SqlClient.SqlClient) {
  const everyTenMinutes = Schedule.spaced("10 minutes")
  yield* repeatInBackground(pruneNotifications(sql), everyTenMinutes, "Old notifications are not deleted yet; retrying")
  yield* repeatInBackground(pruneDeliveryLog(sql), everyTenMinutes, "Old failures are not deleted yet; retrying")
  yield* repeatInBackground(pruneEnds(sql), everyTenMinutes, "Old ends of subscriptions are not deleted yet; retrying")
  yield* repeatInBackground(prunePings(sql), everyTenMinutes, "Old pings are not deleted yet; retrying")
  yield* repeatInBackground(prunePacing(sql), everyTenMinutes, "Old request times are not deleted yet; retrying")
  yield* repeatInBackground(
    pruneReplays(sql),
    Schedule.spaced("5 seconds"),
    "Old replays are not deleted yet; retrying"
  )
})

/** Repeats a delete of at most `maxRows` rows until one of them deletes fewer. */
const deleteInBatches = Effect.fnUntraced(function*(
  statement: Effect.Effect<ReadonlyArray<unknown>, SqlError.SqlError>
) {
  for (let deleted = maxRows; deleted === maxRows;) deleted = (yield* run(statement)).length
})

/** A dropped delivery does not keep its notification: the row of the delivery tells enough. */
const pruneNotifications = (sql: SqlClient.SqlClient) =>
  Effect.flatMap(Clock.currentTimeMillis, (now) =>
    deleteInBatches(sql.unsafe(
      `delete from notifications where id = any(array(
        select n.id from notifications n where n.created_at < ${
        instant("case when n.document is not null then $2::float8 else $1::float8 end")
      }
          and not exists (select from deliveries d where d.notification_id = n.id and d.state = 0)
        order by n.id limit ${maxRows}
      )) returning 1`,
      [now - 24 * hourMs, now - hourMs]
    )))

const pruneDeliveryLog = (sql: SqlClient.SqlClient) =>
  Effect.flatMap(
    Clock.currentTimeMillis,
    (now) => run(sql.unsafe(`delete from delivery_log where tried_at < ${instant("$1::float8")}`, [now - weekMs]))
  )

/** Also keeps at most `maxEnds` per account. */
const pruneEnds = (sql: SqlClient.SqlClient) =>
  Effect.flatMap(Clock.currentTimeMillis, (now) =>
    run(sql.unsafe(
      `delete from subscription_ends where tried_at < ${instant("$1::float8")} or id in (
        select id from (select id, row_number() over (partition by account_id order by id desc) as place from subscription_ends) ends
        where place > ${maxEnds}
      )`,
      [now - weekMs]
    )))

const prunePings = (sql: SqlClient.SqlClient) =>
  Effect.flatMap(Clock.currentTimeMillis, (now) =>
    deleteInBatches(sql.unsafe(
      `delete from pings where id = any(array(
        select id from (select id, received_at from pings order by id limit ${maxRows}) oldest
        where received_at < ${instant("$1::float8")}
      )) returning 1`,
      [now - weekMs]
    )))

/** Deletes sites whose last request is too old to delay the next one, or lies in the future because a clock was ahead. */
const prunePacing = (sql: SqlClient.SqlClient) =>
  Effect.flatMap(Clock.currentTimeMillis, (now) =>
    run(sql.unsafe(
      `delete from verification_pacing
      where coalesce(requested_at[cardinality(requested_at)], 0) not between $1::float8 and $2::float8`,
      [now - minuteMs, now - minuteMs + maxTurnDelayMs]
    )))

/** Streams never read the notification of a replay, so that it goes with its delivery. */
const pruneReplays = (sql: SqlClient.SqlClient) =>
  Effect.gen(function*() {
    const before = (yield* Clock.currentTimeMillis) - hourMs
    yield* run(sql.unsafe(
      `delete from deliveries d using replays r
      where d.id = r.delivery_id and d.state = 1 and r.created_at < ${instant("$1::float8")}`,
      [before]
    ))
    yield* run(sql.unsafe(
      `with gone as (
        delete from replays r where not exists (select from deliveries d where d.id = r.delivery_id) returning r.notification_id
      )
      delete from notifications n using gone where n.id = gone.notification_id`
    ))
  })
