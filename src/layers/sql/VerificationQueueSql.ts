import { Clock, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { createHash } from "node:crypto"
import {
  type Asked,
  claimedFor,
  farAway,
  type Lane,
  maxWaiting,
  placeOf,
  type Question,
  VerificationQueue
} from "#domain/ports/VerificationQueue.ts"
import type { NewSubscription } from "#domain/ports/SubscriptionStore.ts"
import { allot, nextTurn, type SlidingWindow, withTurn } from "#domain/websub/SlidingWindow.ts"
import { column, instant } from "./Values.ts"
import { inTurn, run } from "./Query.ts"

interface DueRow {
  readonly id: number
  readonly site: string
  readonly question: string
}

interface Waiting {
  readonly lane: number
  readonly place: number
  readonly pair: number
  /** Whether the last about the same topic and callback says the same; null: there is none. */
  readonly repeated: boolean | null
}

type Bounds = Parameters<VerificationQueue["Service"]["claim"]>[0]

/** Stored numbers: append only. */
const lanes: ReadonlyArray<Lane> = ["strangers", "standing", "accounts"]

/** Questions that one claim looks at: many of them may have to be moved before one of another site is found. */
const maxLooked = 500

export const layer = Layer.effect(
  VerificationQueue,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient

    const add = Effect.fn("QuestionQueue.add")(function*(question: Question, lane: Lane) {
      const now = yield* Clock.currentTimeMillis
      const key = keyOf(question.wanted)
      const place = placeOf(lane, question.wanted)
      const text = JSON.stringify(question)
      return yield* run(Effect.gen(function*() {
        const [waiting] = yield* sql.unsafe<Waiting>(
          `select (select count(*)::float8 from questions where lane = $1::int2) as lane,
            (select count(*)::float8 from questions where site = $2) as place,
            (select count(*)::float8 from questions where key = $3::bytea) as pair,
            (select question = $4 and not claimed from questions where key = $3::bytea order by id desc limit 1) as repeated`,
          [lanes.indexOf(lane), place, key, text]
        )
        const most = maxWaiting[lane]
        if (waiting?.repeated === true) return "added" as const
        if (waiting !== undefined && waiting.lane >= most.lane) return "full" as const
        if (waiting !== undefined && (waiting.place >= most.place || waiting.pair >= most.pair)) {
          return "place-full" as const
        }
        yield* sql.unsafe(
          `insert into questions (key, lane, site, question, due_at) values ($1::bytea, $2::int2, $3, $4, ${
            instant("$5::float8")
          })`,
          [key, lanes.indexOf(lane), place, text, now]
        )
        return "added" as const
      }))
    })

    const holds = Effect.fn("QuestionQueue.holds")(function*(wanted: NewSubscription) {
      const rows = yield* run(sql.unsafe(`select from questions where key = $1::bytea limit 1`, [keyOf(wanted)]))
      return rows.length > 0
    })

    /** The turns of some sites, held until the transaction ends; in order of their names, so that two claims do not wait for each other. */
    const turnsOf = Effect.fnUntraced(function*(sites: ReadonlyArray<string>) {
      const names = column.texts([...new Set(sites)].toSorted())
      yield* sql.unsafe(
        `insert into question_turns (site, turns) select name, '{}' from unnest($1::text[]) name order by name
        on conflict (site) do nothing`,
        [names]
      )
      const rows = yield* sql.unsafe<{ site: string; turns: SlidingWindow }>(
        `select site, turns from question_turns where site = any($1::text[]) order by site for update`,
        [names]
      )
      return new Map(rows.map(({ site, turns }) => [site, turns]))
    })

    const saveTurns = (site: string, turns: SlidingWindow) =>
      sql.unsafe(
        `insert into question_turns as t (site, turns) values ($1, $2::float8[]) on conflict (site) do update set turns = excluded.turns`,
        [site, column.numbers(turns)]
      )

    /** The first about its topic and callback: what came later waits for it. */
    const due = (lane: Lane, now: number) =>
      sql.unsafe<DueRow>(
        `select id::float8 as id, site, question from questions q
        where lane = $2::int2 and (due_at <= ${instant("$1::float8")} or due_at > ${instant("$3::float8")})
          and not exists (select from questions before where before.key = q.key and before.id < q.id)
        order by due_at, id limit ${maxLooked} for update skip locked`,
        [now, lanes.indexOf(lane), now + farAway]
      )

    const claimDue = Effect.fnUntraced(function*({ lane, limit, perMinute }: Bounds, now: number) {
      const rows = yield* due(lane, now)
      if (rows.length === 0) return []
      const taken = perMinute === undefined ? undefined : yield* turnsOf(rows.map(({ site }) => site))
      const { asked, moved, turns } = perMinute === undefined
        ? { asked: rows.slice(0, limit), moved: [], turns: [] }
        : allot(rows, (site) => taken?.get(site) ?? [], now, { limit, perMinute })
      yield* Effect.forEach(turns, ([site, times]) => saveTurns(site, times), { discard: true })
      yield* sql.unsafe(
        `update questions q set due_at = ${instant("p.due")}, claimed = p.claimed
        from unnest($1::int8[], $2::float8[], $3::bool[]) p(id, due, claimed) where q.id = p.id`,
        [
          column.ids([...asked.map(({ id }) => id), ...moved.map(({ one }) => one.id)]),
          column.numbers([...asked.map(() => now + claimedFor), ...moved.map(({ dueAt }) => dueAt)]),
          column.booleans([...asked.map(() => true), ...moved.map(() => false)])
        ]
      )
      return asked.map(({ id, question }): Asked => ({ id, question: JSON.parse(question) as Question }))
    })

    const claim = Effect.fn("QuestionQueue.claim")(function*(bounds: Bounds) {
      return yield* run(inTurn(sql.withTransaction(claimDue(bounds, yield* Clock.currentTimeMillis))))
    })

    const settle = Effect.fn("QuestionQueue.settle")(function*({ id }: Asked) {
      yield* run(sql.unsafe(`delete from questions where id = $1::int8`, [BigInt(id)]))
    })

    const deny = Effect.fn("QuestionQueue.deny")(function*({ id, question }: Asked, reason: string) {
      const denial: Question = { mode: "denied", wanted: question.wanted, reason }
      yield* run(sql.unsafe(
        `with gone as (
          delete from questions q where id = $1::int8
            and exists (select from questions later where later.key = q.key and later.id > q.id) returning id
        )
        update questions set question = $2, claimed = false, due_at = ${instant("$3::float8")}
        where id = $1::int8 and not exists (select from gone)`,
        [BigInt(id), JSON.stringify(denial), yield* Clock.currentTimeMillis]
      ))
    })

    const turn = Effect.fn("QuestionQueue.turn")(function*(place: string, perMinute: number) {
      const now = yield* Clock.currentTimeMillis
      return yield* run(inTurn(sql.withTransaction(Effect.gen(function*() {
        const turns = (yield* turnsOf([place])).get(place) ?? []
        const at = nextTurn(turns, now, perMinute)
        if (at === now) yield* saveTurns(place, withTurn(turns, now, perMinute))
        return at - now
      }))))
    })

    /** Sites that may be asked as if they never had been need not be remembered. */
    const forget = Effect.gen(function*() {
      const before = (yield* Clock.currentTimeMillis) - 60_000
      yield* run(
        sql.unsafe(
          `delete from question_turns where coalesce(turns[cardinality(turns)], 0) not between $1::float8 and $2::float8`,
          [before, before + farAway]
        )
      )
    })
    yield* forget.pipe(
      Effect.catchTag("StoreError", (error) => Effect.logWarning(`old turns are not deleted yet: ${error.message}`)),
      Effect.repeat(Schedule.spaced("10 minutes")),
      Effect.forkScoped
    )

    return VerificationQueue.of({ add, holds, claim, settle, deny, turn })
  })
)

const keyOf = ({ accountId, endpoint, face, topic }: NewSubscription): Buffer =>
  createHash("sha256").update(JSON.stringify([accountId, face, topic.canonical, endpoint])).digest()
