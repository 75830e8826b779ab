import { Clock, Effect, Layer, Metric, Queue, Schedule, Schema, Semaphore } from "effect"
import { SqlClient } from "effect/sql"
import { BoundedMap } from "#domain/collections/BoundedMap.ts"
import { Event, type LoggedEvent } from "#domain/Event.ts"
import { isEventsUrl } from "#domain/EventsTopic.ts"
import { minuteBefore, operators } from "#domain/limits/EventThrottle.ts"
import { EventLog, EventsBaseUrl, maxEvents, type WatchedEvents } from "#domain/ports/EventLog.ts"
import { repeatInBackground } from "./Background.ts"
import { EventBuffer, type EventRow } from "./EventBuffer.ts"
import { run } from "./Query.ts"
import { column, instant, millis, urlKey } from "./Values.ts"

/** Interval between two writes of buffered events. */
const writeInterval = "1 second"

/** Rows of one statement. */
const maxRows = 1_000

/** Accounts of one resource that get its events, at most. */
const maxAccounts = 1_000

/** Rows of one log between two deletions of its oldest events. */
const pruneSpacing = 100

/** Written batches of watched resources that wait for their readers. */
const maxWatchedBatches = 256

const eventCounter = Metric.counter("windhover_events_total", { description: "Published events, by type" })

const decode = Schema.decodeSync(Schema.fromJsonString(Event))

export const layer = Layer.effect(
  EventLog,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const baseUrl = yield* EventsBaseUrl
    const buffer = new EventBuffer()
    const watched = yield* Queue.sliding<ReadonlyArray<WatchedEvents>>(maxWatchedBatches)
    const prune = makePrune(sql)

    const write = Effect.gen(function*() {
      do {
        const resources = buffer.resources
        buffer.address(resources.length === 0 ? noAccounts : yield* readAccounts(sql, resources))
      } while (buffer.isPending)
      for (let rows = buffer.takeRows(maxRows); rows.length > 0; rows = buffer.takeRows(maxRows)) {
        const found = yield* Effect.onError(insert(sql, rows), () => Effect.sync(() => buffer.restore(rows)))
        if (found.length > 0) yield* Queue.offer(watched, found)
        yield* prune(rows)
      }
      const dropped = buffer.takeDropped()
      if (dropped > 0) {
        yield* Effect.logWarning("Events found no room, because the database was slow or away; they are lost.").pipe(
          Effect.annotateLogs({ events: dropped })
        )
      }
    })
    const semaphore = yield* Semaphore.make(1)
    const flush = semaphore.withPermits(1)(write)
    const flushMinutes = Effect.flatMap(Clock.currentTimeMillis, (now) => {
      buffer.addOmitted(minuteBefore(now), now)
      return flush
    })
    yield* repeatInBackground(flushMinutes, Schedule.spaced(writeInterval), "Events are not written yet; retrying")
    const flushLast = Effect.flatMap(Clock.currentTimeMillis, (now) => {
      buffer.addOmitted(Infinity, now)
      return flush
    })
    yield* Effect.addFinalizer(() => Effect.ignore(Effect.andThen(flush, flushLast)))
    return EventLog.of({
      publish: (event) =>
        baseUrl !== undefined && isAboutEvents(event, baseUrl) ? Effect.void : Effect.andThen(
          Effect.map(Clock.currentTimeMillis, (at) => buffer.add(event, at)),
          Metric.update(Metric.withAttributes(eventCounter, { type: event.type }), 1)
        ),
      readAfter: readAfter(sql),
      readNewest: readNewest(sql),
      watched: Queue.take(watched),
      flush
    })
  })
)

/** Whether an event is about a subscription to events. */
const isAboutEvents = (event: Event, baseUrl: string): boolean =>
  "subscriptionId" in event && URL.canParse(event.topic) && isEventsUrl(event.topic, baseUrl)

const noAccounts: ReadonlyMap<number, ReadonlyArray<number>> = new Map()

/** The accounts of subscriptions to resources. Skips from account to account in the index, because one account may have 100,000 of them. */
const readAccounts = (sql: SqlClient.SqlClient, resources: ReadonlyArray<number>) =>
  Effect.map(
    run(sql.unsafe<{ readonly resource: number; readonly account: number }>(
      `with recursive found as (
        select r.id as resource, 1 as place, ${nextAccount("r.id", operators)} as account from unnest($1::int8[]) r(id)
        union all
        select resource, place + 1, ${nextAccount("f.resource", "f.account")} from found f
        where account is not null and place < ${maxAccounts}
      )
      select resource::float8 as resource, account from found where account is not null`,
      [column.ids(resources)]
    )),
    (rows) =>
      new Map(
        [...Map.groupBy(rows, ({ resource }) => resource)].map(([id, found]) => [
          id,
          found.map(({ account }) => account)
        ])
      )
  )

const nextAccount = (resource: string, after: string | number) =>
  `(select min(s.account_id) from subscriptions s where s.resource_id = ${resource} and s.account_id > ${after})`

/**
 * Writes rows, and returns the watched resources whose events they are.
 *
 * The lock orders the ids of all runners as they become visible, so that a reader behind an id misses no later event.
 */
const insert = (sql: SqlClient.SqlClient, rows: ReadonlyArray<EventRow>) =>
  run(sql.unsafe<WatchedEvents>(insertSql, [
    column.integers(rows.map(({ accountId }) => accountId)),
    column.numbers(rows.map(({ at }) => at)),
    column.texts(rows.map(({ json }) => json)),
    column.integers(rows.map(({ credited }) => credited))
  ]))

const insertSql = `
  with locked as materialized (select pg_advisory_xact_lock(hashtextextended('windhover: events', 0))),
  i as (
    insert into events (account_id, at, event)
    select account, ${instant("at")}, event
    from locked cross join unnest($1::int4[], $2::float8[], $3::text[], $4::int4[])
      with ordinality e(account, at, event, credited, place)
    where exists (select from accounts a where a.id = account)
      and (credited is null or exists (select from credit_ledger l where l.account_id = credited and l.kind > 0))
    order by place
    returning account_id
  ),
  owners as (
    select account_id as id from i union select id from accounts where admin and exists (select from i where account_id = ${operators})
  )
  select r.id::float8 as "resourceId", r.partition::int4 as partition from resources r
  where r.key = any(array(select ${urlKey("'windhover:events/' || id")} from owners)) and r.unwatched_since is null`

/** The log of an account: an operator's account has the log of the operators. */
const logOf = `(select case when admin then ${operators} else id end from accounts where id = $1::int4)`

interface StoredEvent {
  readonly id: number
  readonly at: number
  readonly event: string
}

const eventSelect = `id::float8 as id, ${millis("at")} as at, event`

const toEvent = ({ at, event, id }: StoredEvent): LoggedEvent => ({ id, at, event: decode(event) })

const readAfter = (sql: SqlClient.SqlClient) =>
  Effect.fn("EventLog.readAfter")(function*(accountId: number, after: number, limit: number) {
    const rows = yield* run(sql.unsafe<StoredEvent>(
      `select ${eventSelect} from events where account_id = ${logOf} and id > $2::int8 order by id limit $3::int4`,
      [accountId, BigInt(after), limit]
    ))
    return rows.map(toEvent)
  })

const readNewest = (sql: SqlClient.SqlClient) =>
  Effect.fn("EventLog.readNewest")(function*(accountId: number, limit: number) {
    const rows = yield* run(sql.unsafe<StoredEvent>(
      `select ${eventSelect} from events e where account_id = ${logOf} order by e.id desc limit $2::int4`,
      [accountId, limit]
    ))
    return rows.map(toEvent).toReversed()
  })

/** Returns a function that deletes the oldest events of the logs that have grown. */
const makePrune = (sql: SqlClient.SqlClient) => {
  const grown = new BoundedMap<number, number>(10_000)
  return Effect.fnUntraced(function*(written: ReadonlyArray<EventRow>) {
    for (const [accountId, rows] of Map.groupBy(written, (row) => row.accountId)) {
      const count = (grown.get(accountId) ?? 0) + rows.length
      grown.set(accountId, count < pruneSpacing ? count : 0)
      if (count < pruneSpacing) continue
      yield* run(sql.unsafe(
        `delete from events where account_id = $1::int4 and id <= (
          select e.id from events e where e.account_id = $1::int4 order by e.id desc offset $2::int4 limit 1
        )`,
        [accountId, accountId === operators ? maxEvents.operators : maxEvents.account]
      ))
    }
  })
}
