import { Clock, Effect, Layer, Schedule } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { firstPositionAt } from "#domain/delivery/DeliveryLogEntry.ts"
import { maxEnds } from "#domain/ports/DeliveryLog.ts"
import { maxEventDays } from "#domain/ports/EventLog.ts"
import { Retention } from "#domain/ports/Retention.ts"
import { maxVerificationDelayMs } from "#domain/ports/VerificationQueue.ts"
import { dayMs, hourMs, minuteMs } from "#domain/Time.ts"
import { repeatInBackground } from "./Background.ts"
import { run } from "./Query.ts"
import { correctUnwatched, deleteUnwatched, selectUnwatched } from "./UnwatchedResources.ts"
import { column, instant } from "./Values.ts"

/** Resources that one step reads. */
const maxResources = 200

/** Entries that one step deletes. Polls of their resources wait for it. */
const maxEntries = 2_000

export const layer = Layer.effect(
  Retention,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    yield* startPruning(sql)
    return Retention.of({
      pruneDeliveries: pruneDeliveries(sql),
      pruneDeliveryLog: pruneDeliveryLog(sql),
      pruneEntries: pruneEntries(sql),
      pruneResources: pruneResources(sql),
      pruneHubs: pruneHubs(sql)
    })
  })
)

const pruneDeliveries = (sql: SqlClient.SqlClient) =>
  Effect.fn("Retention.pruneDeliveries")(function*(partition: number, before: number, limit: number) {
    const rows = yield* run(sql.unsafe(
      `delete from deliveries where id = any(array(
        select id from deliveries where state = 1 and due_at < ${instant("$2::float8")} and partition = $1::int2
        order by due_at limit $3::int4 for update skip locked
      )) returning 1`,
      [partition, before, limit]
    ))
    const paused = yield* run(sql.unsafe(deletePausedSql, [partition, before, limit - rows.length]))
    return rows.length + paused.length
  })

/** Deliveries that wait for the resume of their subscription. The first condition is the one of the partial index. */
const deletePausedSql = `
  delete from deliveries where id = any(array(
    select d.id from subscriptions u join deliveries d on d.subscription_id = u.id and d.state = 0
    where (u.state = 2 or u.on_trial) and u.state = 2 and d.partition = $1::int2 and d.created_at < ${
  instant("$2::float8")
}
    limit $3::int4 for update of d skip locked
  )) returning 1`

const pruneEntries = (sql: SqlClient.SqlClient) =>
  Effect.fn("Retention.pruneEntries")(function*(partition: number, keep: number, after: number) {
    return yield* run(Effect.gen(function*() {
      const resources = yield* selectOversized(sql, partition, keep, after)
      const oversized = resources.filter(({ isOversized }) => isOversized).map(({ id }) => id)
      const deleted = oversized.length === 0 ? 0 : yield* deleteOldEntries(sql, oversized, keep)
      if (deleted === maxEntries) return { deleted, next: after }
      return { deleted, next: resources.length === maxResources ? resources.at(-1)?.id : undefined }
    }))
  })

const selectOversized = (sql: SqlClient.SqlClient, partition: number, keep: number, after: number) =>
  sql.unsafe<{ id: number; isOversized: boolean }>(
    `select r.id::float8 as id, ${newestOldEntry("t")} is not null as "isOversized" from (
      select id from resources where partition = $1::int2 and id > $3::int8 order by id limit ${maxResources}
    ) r join resource_state t on t.resource_id = r.id order by r.id`,
    [partition, keep, BigInt(after)]
  )

/**
 * Locks the rows that `record` locks, and skips rows that it holds.
 * So an entry of a stored notification is seen, and no entry is announced while it is deleted.
 */
const lockStates = Effect.fnUntraced(function*(sql: SqlClient.SqlClient, ids: ReadonlyArray<number>) {
  const rows = yield* sql.unsafe<{ id: number }>(
    `select resource_id::float8 as id from resource_state where resource_id = any($1::int8[])
    order by resource_id for no key update skip locked`,
    [column.ids(ids)]
  )
  return rows.map(({ id }) => id)
})

const deleteOldEntries = (sql: SqlClient.SqlClient, resources: ReadonlyArray<number>, keep: number) =>
  sql.withTransaction(Effect.gen(function*() {
    const ids = yield* lockStates(sql, resources)
    if (ids.length === 0) return 0
    const rows = yield* sql.unsafe(
      `delete from entries where (resource_id, seq) in (
        select e.resource_id, e.seq from resource_state t join entries e on e.resource_id = t.resource_id
        and e.seq <= ${newestOldEntry("t")}
        where t.resource_id = any($1::int8[])
          and not exists (select from notifications n where n.resource_id = e.resource_id and e.seq = any(n.entry_seqs))
        limit ${maxEntries}
      ) returning 1`,
      [column.ids(ids), keep]
    )
    return rows.length
  }))

/**
 * The newest entry that is not kept, of the resource of state `t`; null when all are kept.
 * Kept are `$2` entries, or as many as the resource remembers ids if these are more. An id takes 8 bytes or more.
 */
const newestOldEntry = (t: string) =>
  `(select o.seq from entries o where o.resource_id = ${t}.resource_id
    order by o.seq desc offset greatest($2::int4, octet_length(${t}.seen) / 8) limit 1)`

const pruneResources = (sql: SqlClient.SqlClient) =>
  Effect.fn("Retention.pruneResources")(function*(partition: number, before: number, limit: number) {
    const now = yield* Clock.currentTimeMillis
    return yield* run(Effect.gen(function*() {
      yield* correctUnwatched(sql, partition, now, limit)
      const rows = yield* selectUnwatched(sql, partition, before, limit)
      if (rows.length === 0) return { deleted: [], isFinished: true }
      const deleted = yield* sql.withTransaction(deleteUnwatched(sql, rows.map(({ id }) => id)))
      return { deleted, isFinished: rows.length < limit && deleted.length === rows.length }
    }))
  })

const pruneHubs = (sql: SqlClient.SqlClient) =>
  Effect.fn("Retention.pruneHubs")(function*(before: number, limit: number) {
    const rows = yield* run(sql.unsafe(
      `delete from hubs where hub = any(array(
        select h.hub from hubs h where h.counted_at < ${instant("$1::float8")}
          and not exists (select from hub_subscriptions u where u.hub = h.hub)
        order by h.counted_at limit $2::int4 for update skip locked
      )) returning 1`,
      [before, limit]
    ))
    return rows.length
  })

const weekMs = 7 * dayMs

/** Rows of one delete. A larger statement would hold up others. */
const maxRows = 5_000

/**
 * Deletes old rows until the scope closes.
 *
 * * notifications without a waiting or dropped delivery: after 24 h, with a document after 1 h. Streams resume from them.
 * * delivered parts of notifications: after 24 h
 * * ends of subscriptions: beyond the newest 1,000 of an account
 * * pings: after 7 days
 * * events: after 30 days
 * * replays: within 5 s of their delivery; dropped replays after 1 h
 * * times of verification requests: after a minute, because then they no longer limit a site
 */
const startPruning = Effect.fnUntraced(function*(sql: SqlClient.SqlClient) {
  const everyTenMinutes = Schedule.spaced("10 minutes")
  yield* repeatInBackground(pruneNotifications(sql), everyTenMinutes, "Old notifications are not deleted yet; retrying")
  yield* repeatInBackground(
    pruneParts(sql),
    everyTenMinutes,
    "Old parts of notifications are not deleted yet; retrying"
  )
  yield* repeatInBackground(pruneEnds(sql), everyTenMinutes, "Old ends of subscriptions are not deleted yet; retrying")
  yield* repeatInBackground(prunePings(sql), everyTenMinutes, "Old pings are not deleted yet; retrying")
  yield* repeatInBackground(pruneEvents(sql), everyTenMinutes, "Old events are not deleted yet; retrying")
  yield* repeatInBackground(prunePacing(sql), everyTenMinutes, "Old request times are not deleted yet; retrying")
  const everyFiveSeconds = Schedule.spaced("5 seconds")
  yield* repeatInBackground(pruneReplays(sql), everyFiveSeconds, "Old replays are not deleted yet; retrying")
})

/** Repeats a delete of at most `maxRows` rows until one of them deletes fewer. */
const deleteInBatches = Effect.fnUntraced(function*(
  statement: Effect.Effect<ReadonlyArray<unknown>, SqlError.SqlError>
) {
  for (let deleted = maxRows; deleted === maxRows;) deleted = (yield* run(statement)).length
})

/** A waiting or dropped delivery keeps its notification, so that a recovery sends it. `ResourceBytes` bounds the bytes. */
const pruneNotifications = (sql: SqlClient.SqlClient) =>
  Effect.flatMap(Clock.currentTimeMillis, (now) =>
    deleteInBatches(sql.unsafe(
      `delete from notifications where id = any(array(
        select n.id from notifications n
        where n.created_at < ${instant("case when n.document is not null then $2::float8 else $1::float8 end")}
          and not exists (select from deliveries d where d.notification_id = n.id)
        order by n.id limit ${maxRows}
      )) returning 1`,
      [now - dayMs, now - hourMs]
    )))

/** Delivered parts, which are readable and repeatable for as long as most notifications. */
const pruneParts = (sql: SqlClient.SqlClient) =>
  Effect.flatMap(
    Clock.currentTimeMillis,
    (now) =>
      run(
        sql.unsafe(`delete from deliveries where state = 2 and due_at < ${instant("$1::float8")}`, [now - dayMs])
      )
  )

/** The oldest attempts of each account and result, which an index has in order of time; also of a deleted account. */
const pruneDeliveryLog = (sql: SqlClient.SqlClient) =>
  Effect.fn("Retention.pruneDeliveryLog")(function*(before: number, limit: number) {
    const position = firstPositionAt(before)
    const ends = yield* run(sql.unsafe(
      `delete from subscription_ends where id = any(array(
        select id from subscription_ends where id < $1::int8 order by id limit $2::int4
      )) returning 1`,
      [position, limit]
    ))
    const attempts = yield* run(sql.unsafe(
      `with recursive kinds as (
        (select l.account_id, l.result from delivery_log l order by l.account_id, l.result limit 1)
        union all
        select n.account_id, n.result from kinds k cross join lateral (
          select l.account_id, l.result from delivery_log l where (l.account_id, l.result) > (k.account_id, k.result)
          order by l.account_id, l.result limit 1
        ) n
      ), old as materialized (
        select l.subscription_id, l.slot from kinds k cross join lateral (
          select l.subscription_id, l.slot from delivery_log l
          where l.account_id = k.account_id and l.result = k.result and l.id < $1::int8 order by l.id limit $2::int4
        ) l limit $2::int4
      )
      delete from delivery_log l using old o
      where l.subscription_id = o.subscription_id and l.slot = o.slot and l.id < $1::int8 returning 1`,
      [position, limit]
    ))
    return Math.max(ends.length, attempts.length)
  })

/** Keeps at most `maxEnds` per account. */
const pruneEnds = (sql: SqlClient.SqlClient) =>
  run(sql.unsafe(
    `delete from subscription_ends where id in (
      select id from (select id, row_number() over (partition by account_id order by id desc) as place from subscription_ends) ends
      where place > ${maxEnds}
    )`
  ))

/** Deletes rows whose time is more than `ageMs` ago. Rows are stored in the order of their times, so that the first ones are the oldest. */
const pruneOldest = (sql: SqlClient.SqlClient, table: string, time: string, ageMs: number) =>
  Effect.flatMap(Clock.currentTimeMillis, (now) =>
    deleteInBatches(sql.unsafe(
      `delete from ${table} where id = any(array(
        select id from (select id, ${time} from ${table} order by id limit ${maxRows}) oldest
        where ${time} < ${instant("$1::float8")}
      )) returning 1`,
      [now - ageMs]
    )))

const prunePings = (sql: SqlClient.SqlClient) => pruneOldest(sql, "pings", "received_at", weekMs)

const pruneEvents = (sql: SqlClient.SqlClient) => pruneOldest(sql, "events", "at", maxEventDays * dayMs)

/** Deletes sites whose last request is too old to delay the next one, or lies in the future because a clock was ahead. */
const prunePacing = (sql: SqlClient.SqlClient) =>
  Effect.flatMap(Clock.currentTimeMillis, (now) =>
    run(sql.unsafe(
      `delete from verification_pacing
      where coalesce(requested_at[cardinality(requested_at)], 0) not between $1::float8 and $2::float8`,
      [now - minuteMs, now - minuteMs + maxVerificationDelayMs]
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
