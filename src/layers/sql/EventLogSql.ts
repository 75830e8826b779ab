import { Clock, Effect, Layer, Schedule, Schema, Semaphore } from "effect"
import { SqlClient } from "effect/sql"
import { Event, type LoggedEvent } from "#domain/Event.ts"
import { EventLog } from "#domain/ports/EventLog.ts"
import { repeatInBackground } from "./Background.ts"
import { run } from "./Query.ts"
import { column, instant, millis } from "./Values.ts"

/** Interval between two writes of buffered events. */
const writeInterval = "1 second"

/** Maximum of buffered events. Later ones are dropped while the database is away. */
const maxBuffered = 10_000

/** The account of the operators' log. */
const operators = 0

const { decode, encode } = {
  decode: Schema.decodeSync(Schema.fromJsonString(Event)),
  encode: Schema.encodeSync(Schema.fromJsonString(Event))
}

interface BufferedEvent {
  readonly at: number
  readonly event: Event
}

export const layer = Layer.effect(
  EventLog,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    let buffered: Array<BufferedEvent> = []
    const semaphore = yield* Semaphore.make(1)
    const flush = semaphore.withPermits(1)(Effect.suspend(() => {
      if (buffered.length === 0) return Effect.void
      const events = buffered
      buffered = []
      return Effect.tapError(insert(sql, events), () => Effect.sync(() => void buffered.unshift(...events)))
    }))
    yield* repeatInBackground(flush, Schedule.spaced(writeInterval), "Events are not written yet; retrying")
    yield* Effect.addFinalizer(() => Effect.ignore(flush))
    return EventLog.of({
      publish: (event) =>
        Effect.map(Clock.currentTimeMillis, (at) => {
          if (buffered.length < maxBuffered) buffered.push({ at, event })
        }),
      readAfter: readAfter(sql),
      flush
    })
  })
)

/**
 * Adds events to the logs of their owners, and to the operators' log.
 *
 * The lock orders the ids of all runners as they become visible, so that a reader behind an id misses no later one.
 *
 * An event of a resource belongs to the accounts of its subscriptions.
 */
const insert = Effect.fnUntraced(function*(sql: SqlClient.SqlClient, events: ReadonlyArray<BufferedEvent>) {
  const accountOf = (event: Event) => "accountId" in event ? event.accountId : undefined
  yield* run(sql.unsafe(
    `with locked as materialized (select pg_advisory_xact_lock(hashtextextended('windhover: events', 0))), e as (
      select * from unnest($1::int4[], $2::int8[], $3::float8[], $4::text[])
        with ordinality e(account, resource, at, event, place)
    ), o as (
      select ${operators} as owner, * from e
      union select account, * from e where account > ${operators}
      union select s.account_id, e.* from e join subscriptions s on s.resource_id = e.resource and s.account_id > ${operators}
    )
    insert into events (account_id, at, event)
    select owner, ${instant("at")}, event from locked cross join o
    where exists (select from accounts a where a.id = owner) order by place, owner`,
    [
      column.integers(events.map(({ event }) => accountOf(event))),
      column.ids(events.map(({ event }) => "resourceId" in event ? event.resourceId : 0)),
      column.numbers(events.map(({ at }) => at)),
      column.texts(events.map(({ event }) => encode(event)))
    ]
  ))
})

const readAfter = (sql: SqlClient.SqlClient) =>
  Effect.fn("EventLog.readAfter")(function*(accountId: number | undefined, after: number, limit: number) {
    const rows = yield* run(sql.unsafe<{ readonly id: number; readonly at: number; readonly event: string }>(
      `select id::float8 as id, ${millis("at")} as at, event from events
      where account_id = $1::int4 and id > $2::int8 order by id limit $3::int4`,
      [accountId ?? operators, BigInt(after), limit]
    ))
    return rows.map(({ at, event, id }): LoggedEvent => ({ id, at, event: decode(event) }))
  })
