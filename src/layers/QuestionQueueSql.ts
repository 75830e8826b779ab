import { Clock, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { createHash } from "node:crypto"
import { type Asked, claimedFor, maxWaiting, type Question, QuestionQueue } from "#domain/ports/QuestionQueue.ts"
import type { NewSubscription } from "#domain/ports/SubscriptionStore.ts"
import { siteOf } from "#domain/Topic.ts"
import { allot, nextTurn, type Turns, withTurn } from "#domain/Turns.ts"
import { column, instant } from "./sql/Values.ts"
import { ask, inTurn } from "./SqlFailure.ts"

interface DueRow {
  readonly id: number
  readonly site: string
  readonly revision: number
  readonly question: string
}

/** Questions that one claim looks at: many of them may have to be moved before one of another site is found. */
const maxLooked = 500

export const layer = Layer.effect(
  QuestionQueue,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient

    const add = Effect.fn("QuestionQueue.add")(function*(question: Question) {
      const now = yield* Clock.currentTimeMillis
      const key = keyOf(question.wanted)
      const site = siteOf(question.wanted.host)
      return yield* ask(Effect.gen(function*() {
        const [waiting] = yield* sql.unsafe<{ total: number; site: number; known: boolean }>(
          `select count(*)::float8 as total, count(*) filter (where site = $1)::float8 as site,
          coalesce(bool_or(key = $2::bytea), false) as known from questions`,
          [site, key]
        )
        if (waiting !== undefined && !waiting.known) {
          if (waiting.total >= maxWaiting.total) return "full" as const
          if (waiting.site >= maxWaiting.site) return "site-full" as const
        }
        yield* sql.unsafe(
          `insert into questions as q (key, site, question, due_at) values ($1::bytea, $2, $3, ${instant("$4::float8")})
          on conflict (key) do update set question = excluded.question, revision = q.revision + 1`,
          [key, site, JSON.stringify(question), now]
        )
        return "added" as const
      }))
    })

    const holds = Effect.fn("QuestionQueue.holds")(function*(wanted: NewSubscription) {
      const rows = yield* ask(sql.unsafe(`select from questions where key = $1::bytea`, [keyOf(wanted)]))
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
      const rows = yield* sql.unsafe<{ site: string; turns: Turns }>(
        `select site, turns from question_turns where site = any($1::text[]) order by site for update`,
        [names]
      )
      return new Map(rows.map(({ site, turns }) => [site, turns]))
    })

    const saveTurns = (site: string, turns: Turns) =>
      sql.unsafe(
        `insert into question_turns as t (site, turns) values ($1, $2::float8[]) on conflict (site) do update set turns = excluded.turns`,
        [site, column.numbers(turns)]
      )

    const claimDue = Effect.fnUntraced(
      function*(bounds: { readonly limit: number; readonly perMinute: number }, now: number) {
        const due = yield* sql.unsafe<DueRow>(
          `select id::float8 as id, site, revision, question from questions where due_at <= ${instant("$1::float8")}
          order by due_at, id limit ${maxLooked} for update skip locked`,
          [now]
        )
        if (due.length === 0) return []
        const taken = yield* turnsOf(due.map(({ site }) => site))
        const { asked, moved, turns } = allot(due, (site) => taken.get(site) ?? [], now, bounds)
        yield* Effect.forEach(turns, ([site, times]) => saveTurns(site, times), { discard: true })
        yield* sql.unsafe(
          `update questions q set due_at = ${
            instant("p.due")
          } from unnest($1::int8[], $2::float8[]) p(id, due) where q.id = p.id`,
          [
            column.ids([...asked.map(({ id }) => id), ...moved.map(({ one }) => one.id)]),
            column.numbers([...asked.map(() => now + claimedFor), ...moved.map(({ dueAt }) => dueAt)])
          ]
        )
        return asked.map(({ id, question, revision }): Asked => ({
          id,
          revision,
          question: JSON.parse(question) as Question
        }))
      }
    )

    const claim = Effect.fn("QuestionQueue.claim")(
      function*(bounds: { readonly limit: number; readonly perMinute: number }) {
        return yield* ask(inTurn(sql.withTransaction(claimDue(bounds, yield* Clock.currentTimeMillis))))
      }
    )

    const settle = Effect.fn("QuestionQueue.settle")(function*({ id, revision }: Asked) {
      yield* ask(sql.unsafe(
        `with gone as (delete from questions where id = $1::int8 and revision = $2::int4 returning id)
        update questions set due_at = ${instant("$3::float8")} where id = $1::int8 and not exists (select from gone)`,
        [BigInt(id), revision, yield* Clock.currentTimeMillis]
      ))
    })

    const deny = Effect.fn("QuestionQueue.deny")(function*({ id, question, revision }: Asked, reason: string) {
      const denial: Question = { mode: "denied", wanted: question.wanted, reason }
      yield* ask(sql.unsafe(
        `update questions set question = case when revision = $2::int4 then $3 else question end, revision = revision + 1,
        due_at = ${instant("$4::float8")} where id = $1::int8`,
        [BigInt(id), revision, JSON.stringify(denial), yield* Clock.currentTimeMillis]
      ))
    })

    const turn = Effect.fn("QuestionQueue.turn")(function*(site: string, perMinute: number) {
      const now = yield* Clock.currentTimeMillis
      return yield* ask(inTurn(sql.withTransaction(Effect.gen(function*() {
        const turns = (yield* turnsOf([site])).get(site) ?? []
        const at = nextTurn(turns, now, perMinute)
        if (at === now) yield* saveTurns(site, withTurn(turns, now, perMinute))
        return at - now
      }))))
    })

    /** Sites that may be asked as if they never had been need not be remembered. */
    const forget = Effect.gen(function*() {
      const before = (yield* Clock.currentTimeMillis) - 60_000
      yield* ask(
        sql.unsafe(`delete from question_turns where coalesce(turns[cardinality(turns)], 0) < $1::float8`, [before])
      )
    })
    yield* forget.pipe(
      Effect.catchTag("StoreError", (error) => Effect.logWarning(`old turns are not deleted yet: ${error.message}`)),
      Effect.repeat(Schedule.spaced("10 minutes")),
      Effect.forkScoped
    )

    return QuestionQueue.of({ add, holds, claim, settle, deny, turn })
  })
)

const keyOf = ({ accountId, endpoint, face, topic }: NewSubscription): Buffer =>
  createHash("sha256").update(JSON.stringify([accountId, face, topic.canonical, endpoint])).digest()
