import { Clock, Effect, Latch, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { PingOutcome } from "#domain/poll/PingOutcome.ts"
import { maxRecentPings, type NewPing, type Ping, Pings } from "#domain/ports/Pings.ts"
import type { PingedTopic } from "#domain/ports/ResourceStore.ts"
import { makeWriteBehind } from "./Background.ts"
import { batched, noSpacing, rowsOfInputs, type Spacing } from "./Batched.ts"
import { commitsLater } from "./Conditions.ts"
import { sqlWithGenericPlans } from "./GenericPlans.ts"
import { pingedResources, type PingedRow, pingedTopicOf } from "./PingedTopics.ts"
import { column, farFuture, instant, legalText, millis } from "./Values.ts"
import { run } from "./Query.ts"

/** Stored numbers: append only. */
const outcomeTags: ReadonlyArray<PingOutcome["_tag"]> = ["NoSubscriber", "Unchanged", "Changed", "Failed"]

interface ReceivedPing {
  readonly ping: NewPing
  readonly maxFragments: number
  readonly receivedAt: number
}

interface PingRow {
  readonly topic: string
  readonly with_content: boolean
  readonly received: number
  readonly outcome: number | null
  readonly entries: number | null
  readonly code: number | null
  readonly message: string | null
  readonly answered: number | null
}

export const layer = Layer.effect(
  Pings,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const genericSql = yield* sqlWithGenericPlans
    const inserts = makeRunning()
    const insert = inserts.track(makeInsert(genericSql))
    const { add: resolve, flush } = yield* makeOutcomes(genericSql, inserts.settled)
    const writeOutcomes = Effect.ignore(flush) // a database that cannot write can still be read
    return Pings.of({
      record: (ping, maxFragments) =>
        Effect.flatMap(Clock.currentTimeMillis, (receivedAt) => insert({ ping, maxFragments, receivedAt })),
      resolve: (resourceId, until, outcome) =>
        Effect.flatMap(
          Clock.currentTimeMillis,
          (answeredAt) => resolve({ resourceId, until, outcome, answeredAt })
        ),
      findUnanswered: (partitions, before) => Effect.andThen(writeOutcomes, selectUnanswered(sql)(partitions, before)),
      list: (query) => Effect.andThen(writeOutcomes, list(sql)(query)),
      listTopicsSince: listTopicsSince(genericSql),
      listOpen: (topic, limit) => Effect.andThen(writeOutcomes, listOpen(sql)(topic, limit))
    })
  })
)

/**
 * Finds the resources of topics, and inserts the pings, in one statement: each statement is a way to the database and back.
 *
 * A ping of a watched topic waits for the fetch of its resource, or of its first fragment.
 */
const insertSql = `
  with p as (
    select * from unnest($2::int4[], $3::text[], $4::text[], $5::bool[], $6::float8[], $7::int4[]) with ordinality
      p(account, given, topic, content, at, max_fragments, position)
  ),
  found as (
    select p.position, f.* from p cross join lateral ${pingedResources} f
  ),
  inserted as (
    insert into pings (account_id, topic, resource_id, with_content, received_at, outcome, answered_at)
    select p.account, p.given, a.id, p.content, ${instant("p.at")}, case when a.watched is not true then 0 end,
      case when a.watched is not true then ${instant("p.at")} end
    from p left join (
      select distinct on (position) position, id, watched from found order by position, watched desc, fragment, id
    ) a on a.position = p.position
  )
  select position::float8 as position, id::float8 as id, fragment, watched from found order by position, id`

/** Times between two statements for pings that may wait: a wait from some 200 a second on. */
const insertSpacing: Spacing = { msPerInput: 5, maxMs: 50 }

const makeInsert = (sql: SqlClient.SqlClient) =>
  batched<ReceivedPing, PingedTopic>({
    maxInputs: 500,
    spacing: ({ ping }) => ping.mayWait === true ? insertSpacing : noSpacing,
    run: Effect.fnUntraced(function*(received) {
      const rows = yield* run(sql.unsafe<PingedRow>(insertSql, [
        yield* Clock.currentTimeMillis,
        column.integers(received.map(({ ping }) => ping.accountId)),
        column.texts(received.map(({ ping }) => ping.topic)),
        column.texts(
          received.map(({ ping: { canonical } }) => canonical?.includes("\u0000") === true ? null : canonical)
        ),
        column.booleans(received.map(({ ping }) => ping.withContent)),
        column.numbers(received.map(({ receivedAt }) => receivedAt)),
        column.integers(received.map(({ maxFragments }) => maxFragments))
      ]))
      return rowsOfInputs(rows, received).map(pingedTopicOf)
    })
  })

/** The outcome of a fetch, for the pings of its resource that were received until its start. */
interface FetchOutcome {
  readonly resourceId: number
  /** Epoch ms. */
  readonly until: number
  readonly outcome: PingOutcome
  /** Epoch ms. */
  readonly answeredAt: number
}

/** Calls that have begun and not ended. */
const makeRunning = () => {
  const running = new Set<Latch.Latch>()
  return {
    /** A call goes on without its caller, as its statement does. */
    track: <In, Out, E>(call: (input: In) => Effect.Effect<Out, E>) => (input: In): Effect.Effect<Out, E> =>
      Effect.uninterruptible(Effect.suspend(() => {
        const ended = Latch.makeUnsafe(false)
        running.add(ended)
        return Effect.ensuring(
          call(input),
          Effect.sync(() => {
            running.delete(ended)
            ended.openUnsafe()
          })
        )
      })),
    /** Returns when all calls so far have ended, or after a second. */
    settled: Effect.suspend(() =>
      running.size === 0 ? Effect.void : Effect.asVoid(
        Effect.timeoutOption(Effect.forEach([...running], (ended) => ended.await, { discard: true }), "1 second")
      )
    )
  }
}

/**
 * Outcomes may be lost in a crash: the pings are then answered again.
 *
 * A fetch may end before the rows of its pings are written, so that a write waits for the inserts so far. A row that takes longer than a
 * second gets the outcome of one more fetch, 30 s later.
 */
const makeOutcomes = (sql: SqlClient.SqlClient, insertsSettled: Effect.Effect<void>) =>
  makeWriteBehind<FetchOutcome>({
    delayMs: 50,
    flushAt: 256,
    dropsDefects: true,
    warning: "The outcomes of pings are not recorded yet; retrying",
    write: (fetches) =>
      Effect.andThen(
        insertsSettled,
        run(sql.unsafe(writeOutcomesSql, [
          column.ids(fetches.map(({ resourceId }) => resourceId)),
          column.numbers(fetches.map(({ until }) => until)),
          column.integers(fetches.map(({ outcome }) => outcomeTags.indexOf(outcome._tag))),
          column.integers(fetches.map(({ outcome }) => "code" in outcome ? outcome.code : null)),
          column.integers(fetches.map(({ outcome }) => "entries" in outcome ? outcome.entries : null)),
          column.texts(fetches.map(({ outcome }) => "message" in outcome ? outcome.message : null)),
          column.numbers(fetches.map(({ answeredAt }) => answeredAt))
        ]))
      )
  })

/** A ping takes the first of the fetches that answer it. */
const writeOutcomesSql = `
  with answered as materialized (
    select distinct on (waiting.id) waiting.id, fetches.*
    from unnest($1::int8[], $2::float8[], $3::int4[], $4::int4[], $5::int4[], $6::text[], $7::float8[]) with ordinality
      fetches(resource_id, until, outcome, code, entries, message, answered, position)
    cross join lateral (
      select id, received_at from pings where resource_id = fetches.resource_id and outcome is null offset 0
    ) waiting
    where waiting.received_at <= ${instant("fetches.until")}
    order by waiting.id, fetches.position
  )
  update pings p set outcome = a.outcome, code = a.code, entries = a.entries, message = a.message,
    answered_at = ${instant("a.answered")}
  from answered a where p.id = a.id and ${commitsLater}`

const selectUnanswered = (sql: SqlClient.SqlClient) =>
  Effect.fn("Pings.findUnanswered")(function*(partitions: ReadonlyArray<number>, before: number) {
    return yield* run(sql.unsafe<{ partition: number; resourceId: number }>(
      `select distinct r.partition::int4 as partition, r.id::float8 as "resourceId" from pings p join resources r on r.id = p.resource_id
      where p.outcome is null and p.received_at < ${instant("$2::float8")} and r.partition = any($1::int4[])`,
      [column.integers(partitions), Math.min(before, farFuture)]
    ))
  })

const pingColumns = `topic, with_content, ${millis("received_at")} as received, outcome, entries, code, message,
  ${millis("answered_at")} as answered`

const list = (sql: SqlClient.SqlClient) =>
  Effect.fn("Pings.list")(function*(query: { readonly accountId?: number; readonly limit: number }) {
    const rows = yield* run(
      sql.unsafe<PingRow>(
        `select ${pingColumns} from pings where $1::int4 is null or account_id = $1::int4 order by id desc limit $2::int4`,
        [query.accountId ?? null, query.limit]
      ).unprepared
    )
    return rows.map(pingOfRow)
  })

/** Numbers of pings grow with the time, so that the primary key bounds the search. */
const listTopicsSince = (sql: SqlClient.SqlClient) =>
  Effect.fn("Pings.listTopicsSince")(function*(since: number) {
    const rows = yield* run(sql.unsafe<{ readonly topic: string }>(
      `select distinct topic from pings
      where id > (select max(id) from pings) - $2::int8 and received_at >= ${instant("$1::float8")}`,
      [since, BigInt(maxRecentPings)]
    ))
    return rows.map(({ topic }) => topic)
  })

const listOpen = (sql: SqlClient.SqlClient) =>
  Effect.fn("Pings.listOpen")(function*(topic: string, limit: number) {
    const rows = yield* run(
      sql.unsafe<PingRow>(
        `select ${pingColumns} from pings
        where hashtextextended(topic, 0) = hashtextextended($1, 0) and topic = $1 and account_id is null
        order by id desc limit $2::int4`,
        [legalText(topic), limit]
      )
    )
    return rows.map(pingOfRow)
  })

const pingOfRow = (row: PingRow): Ping => {
  const outcome = outcomeOfRow(row)
  return {
    topic: row.topic,
    withContent: row.with_content,
    receivedAt: row.received,
    ...(outcome !== undefined && { outcome }),
    ...(row.answered !== null && { answeredAt: row.answered })
  }
}

const outcomeOfRow = ({ code, entries, message, outcome }: PingRow): PingOutcome | undefined => {
  switch (outcome === null ? undefined : outcomeTags[outcome]) {
    case undefined:
      return undefined
    case "NoSubscriber":
      return { _tag: "NoSubscriber" }
    case "Unchanged":
      return { _tag: "Unchanged", code: code ?? 0 }
    case "Changed":
      return { _tag: "Changed", code: code ?? 0, entries: entries ?? 0 }
    case "Failed":
      return { _tag: "Failed", code: code ?? 0, message: message ?? "" }
  }
}
