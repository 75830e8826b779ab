import { Clock, Effect, Latch, Layer, Schedule, Semaphore } from "effect"
import { SqlClient } from "effect/sql"
import { fitting, placeInLog } from "#domain/delivery/Delivery.ts"
import type { Attempt, Delivery, Notification } from "#domain/delivery/Notification.ts"
import { type Backlog, Outbox } from "#domain/ports/Outbox.ts"
import type { StoreError } from "#domain/ports/StoreError.ts"
import { batched } from "./Batched.ts"
import { notificationColumns, notificationOf, type NotificationRow } from "./NotificationRows.ts"
import { column, farFuture, instant, millis } from "./Values.ts"
import { run } from "./Query.ts"

/** Confirmations are written when there are so many, or after so many ms. */
const confirmBatch = 256
const confirmDelay = 50

/**
 * A notification that no delivery waits for is kept for so many ms, then it goes. Streams are resumed from what is kept;
 * documents can be large, entries are stored besides.
 */
const keptFor = { entries: 24 * 60 * 60_000, document: 60 * 60_000 }

/** A failed try is kept in the log for so many ms. */
const logKeptFor = 7 * 24 * 60 * 60_000

/** Rows of one statement that deletes them: none may hold up the others for long. */
const pruneBatch = 5_000

interface WaitingRow {
  readonly id: number
  readonly subscription: number
  readonly sequence: number
  readonly credits: number
  readonly attempt: number
  readonly due: number
  readonly since: number
  readonly notification: number
  /** Of the notification's document. */
  readonly bytes: number
}

interface Asked {
  readonly id: number
  readonly count: number
  readonly bytes: number
}

interface Failed {
  readonly delivery: Delivery
  readonly attempt: Attempt
  /** Undefined: given up. */
  readonly dueAt: number | undefined
}

export const layer = Layer.effect(
  Outbox,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const confirmed = new Set<number>()

    /** Each notification once, however many subscriptions wait for it. */
    const notifications = Effect.fnUntraced(function*(ids: ReadonlyArray<number>) {
      const rows = yield* run(sql.unsafe<NotificationRow>(
        `select ${notificationColumns} from notifications n where n.id = any($1::int8[])`,
        [column.ids(ids)]
      ))
      return new Map(rows.map((row) => [row.id, notificationOf(row)]))
    })

    const waiting = (subscriptionIds: ReadonlyArray<number>, limit: number) =>
      run(sql.unsafe<WaitingRow>(
        `select d.id::float8 as id, d.subscription_id::float8 as subscription, d.sequence::float8 as sequence, d.credits::float8 as credits,
        d.attempt, ${millis("d.due_at")} as due, ${
          millis("d.created_at")
        } as since, d.notification_id::float8 as notification,
        coalesce((select octet_length(n.document) from notifications n where n.id = d.notification_id), 0) as bytes
      from unnest($1::int8[]) wanted(id) cross join lateral (
        select * from deliveries d where d.subscription_id = wanted.id and d.state = 0 order by d.sequence limit $2::int4
      ) d order by d.subscription_id, d.sequence`,
        [column.ids(subscriptionIds), limit]
      ))

    const nextSequences = (subscriptionIds: ReadonlyArray<number>) =>
      Effect.map(
        run(sql.unsafe<{ id: number; next: number }>(
          `select id::float8 as id, next_sequence::float8 as next from subscriptions where id = any($1::int8[])`,
          [column.ids(subscriptionIds)]
        )),
        (rows) => new Map(rows.map(({ id, next }) => [id, next]))
      )

    const backlogs = batched<Asked, Backlog>({
      spacing: 5,
      max: 500,
      run: Effect.fnUntraced(function*(asked) {
        const ids = [...new Set(asked.map(({ id }) => id))]
        // the numbers first: what is inserted between the two statements is then behind `nextSequence`, and told of by itself
        const next = yield* nextSequences(ids)
        // as they are now: those that are deleted while the question is under way may still be in its answer
        const ahead = new Set(confirmed)
        const most = Math.max(...asked.map(({ count }) => count)) + 1
        const rows = (yield* waiting(ids, most + ahead.size)).filter(({ id }) => !ahead.has(id))
        const bySubscription = Map.groupBy(rows, ({ subscription }) => subscription)
        const found = asked.map((one) => {
          const all = next.has(one.id) ? bySubscription.get(one.id) ?? [] : []
          const first = all.slice(0, fitting(all.map(({ bytes }) => bytes), one))
          return { first, more: all.length > first.length, nextSequence: next.get(one.id) ?? 1 }
        })
        const wanted = found.flatMap(({ first }) => first.map(({ notification }) => notification))
        const known = yield* notifications([...new Set(wanted)])
        return found.map(({ first, more, nextSequence }) => ({
          deliveries: first.flatMap((row) => deliveryOf(row, known.get(row.notification))),
          more,
          nextSequence
        }))
      })
    })

    const fail = batched<Failed, true>({
      spacing: 5,
      max: 500,
      run: Effect.fnUntraced(function*(rows) {
        const now = yield* Clock.currentTimeMillis
        yield* run(sql.unsafe(
          `with failed as (
          update deliveries d set attempt = p.attempt, state = p.state, due_at = coalesce(${
            instant("p.due")
          }, d.due_at),
            last_code = p.code, last_error = p.message
          from unnest($1::int8[], $2::int4[], $3::int4[], $4::float8[], $5::int4[], $6::text[], $7::float8[], $8::int4[])
            p(id, attempt, state, due, code, message, latency, place)
          where d.id = p.id and d.state = 0
          returning d.subscription_id, d.sequence, p.attempt, p.due, p.code, p.message, p.latency, p.place
        )
        insert into delivery_log (subscription_id, place, sequence, attempt, tried_at, code, message, latency, next_try)
        select distinct on (subscription_id, place)
          subscription_id, place, sequence, attempt, ${instant("$9::float8")}, code, message, latency, ${instant("due")}
        from failed order by subscription_id, place, sequence desc
        on conflict (subscription_id, place) do update set sequence = excluded.sequence, attempt = excluded.attempt,
          tried_at = excluded.tried_at, code = excluded.code, message = excluded.message, latency = excluded.latency,
          next_try = excluded.next_try`,
          [
            column.ids(rows.map(({ delivery }) => delivery.id)),
            column.integers(rows.map(({ delivery }) => delivery.attempt + 1)),
            column.integers(rows.map(({ dueAt }) => dueAt === undefined ? 1 : 0)),
            column.numbers(rows.map(({ dueAt }) => dueAt)),
            column.integers(rows.map(({ attempt }) => attempt.code)),
            column.texts(rows.map(({ attempt }) => attempt.message)),
            column.numbers(rows.map(({ attempt }) => attempt.latency)),
            column.integers(rows.map(({ delivery }) => placeInLog(delivery.sequence, delivery.attempt + 1))),
            now
          ]
        ))
        return rows.map(() => true)
      })
    })

    const dropOlder = Effect.fn("Outbox.dropOlder")(function*(subscriptionId: number, before: number) {
      const rows = yield* run(sql.unsafe(
        `update deliveries set state = 1 where subscription_id = $1::int8 and state = 0 and created_at <= ${
          instant("$2::float8")
        } returning 1`,
        [BigInt(subscriptionId), before]
      ))
      return rows.length
    })

    const waitAnew = Effect.fn("Outbox.waitAnew")(function*(subscriptionId: number, since: number) {
      yield* run(sql.unsafe(
        `update deliveries set created_at = ${instant("$2::float8")}
        where subscription_id = $1::int8 and state = 0 and created_at < ${instant("$2::float8")}`,
        [BigInt(subscriptionId), since]
      ))
    })

    const stalled = Effect.fn("Outbox.stalled")(function*(partitions: ReadonlyArray<number>, before: number) {
      return yield* run(sql.unsafe<{ partition: number; subscriptionId: number }>(
        `select d.partition, d.subscription_id::float8 as "subscriptionId" from deliveries d
      join subscriptions s on s.id = d.subscription_id and s.state = 1
      where d.state = 0 and d.due_at < ${instant("$2::float8")} and d.partition = any($1::int4[])
      group by d.partition, d.subscription_id`,
        [column.integers(partitions), Math.min(before, farFuture)]
      ))
    })

    const turns = yield* Semaphore.make(1)
    const flush = turns.withPermits(1)(Effect.suspend(() => {
      const ids = [...confirmed]
      return ids.length === 0 ? Effect.void : run(
        sql.unsafe(`delete from deliveries where id = any($1::int8[])`, [column.ids(ids)])
      ).pipe(Effect.map(() => ids.forEach((id) => confirmed.delete(id))))
    }))

    /** Nobody waits for these any more. Of what was given up the delivery is kept, and tells enough. */
    const prune = Effect.gen(function*() {
      const now = yield* Clock.currentTimeMillis
      for (let deleted = pruneBatch; deleted === pruneBatch;) {
        const rows = yield* run(sql.unsafe(
          `delete from notifications where id = any(array(
            select n.id from notifications n where n.created_at < ${
            instant("case when n.document is not null then $2::float8 else $1::float8 end")
          }
              and not exists (select from deliveries d where d.notification_id = n.id and d.state = 0)
            order by n.id limit ${pruneBatch}
          )) returning 1`,
          [now - keptFor.entries, now - keptFor.document]
        ))
        deleted = rows.length
      }
    })

    const pruneLog = Effect.gen(function*() {
      const before = (yield* Clock.currentTimeMillis) - logKeptFor
      yield* run(sql.unsafe(`delete from delivery_log where tried_at < ${instant("$1::float8")}`, [before]))
    })

    /** Nobody is woken while nothing is confirmed: to look twenty times a second cost as much as fifty polls. */
    const needed = yield* Latch.make(false)
    const flushSoon = Effect.suspend(() => confirmed.size > 0 ? Effect.void : needed.await).pipe(
      Effect.andThen(Effect.sleep(confirmDelay)),
      Effect.andThen(needed.close),
      Effect.andThen(flush)
    )

    const loop = <A>(what: string, step: Effect.Effect<unknown, StoreError>, spacing: Schedule.Schedule<A>) =>
      step.pipe(
        Effect.catchTag("StoreError", (error) => Effect.logWarning(`${what}: ${error.message}`)),
        Effect.repeat(spacing),
        Effect.forkScoped
      )
    yield* loop("confirmed deliveries are not deleted yet", flushSoon, Schedule.forever)
    yield* loop("old notifications are not deleted yet", prune, Schedule.spaced("10 minutes"))
    yield* loop("old failures are not deleted yet", pruneLog, Schedule.spaced("10 minutes"))
    yield* Effect.addFinalizer(() => Effect.ignore(flush))

    return Outbox.of({
      backlog: (id, count, bytes = Infinity) => backlogs({ id, count, bytes }),
      confirm: (deliveryId) =>
        Effect.suspend(() => {
          confirmed.add(deliveryId)
          needed.openUnsafe()
          return confirmed.size === confirmBatch ? Effect.ignore(flush) : Effect.void
        }),
      postpone: (delivery, dueAt, attempt) => Effect.asVoid(fail({ delivery, dueAt, attempt })),
      drop: (delivery, attempt) => Effect.asVoid(fail({ delivery, dueAt: undefined, attempt })),
      dropOlder,
      waitAnew,
      stalled,
      flush
    })
  })
)

const deliveryOf = (row: WaitingRow, notification: Notification | undefined): ReadonlyArray<Delivery> =>
  notification === undefined ? [] : [{
    id: row.id,
    subscriptionId: row.subscription,
    sequence: row.sequence,
    credits: row.credits,
    attempt: row.attempt,
    dueAt: row.due,
    waitsSince: row.since,
    notification
  }]
