import { Clock, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { createHash } from "node:crypto"
import {
  type ClaimedVerification,
  claimTimeMs,
  maxVerificationDelayMs,
  maxWaitingVerifications,
  quotaKeyOf,
  type Verification,
  type VerificationLane,
  VerificationQueue
} from "#domain/ports/VerificationQueue.ts"
import type { NewSubscription } from "#domain/ports/SubscriptionStore.ts"
import { addRequest, allocate, nextAllowedAt, type SlidingWindow } from "#domain/websub/SlidingWindow.ts"
import { decodeVerification } from "./StoredJson.ts"
import { column, instant } from "./Values.ts"
import { retryConflicts, run } from "./Query.ts"

interface DueRow {
  readonly id: number
  readonly site: string
  readonly request: string
}

interface CountRow {
  readonly queue: number
  readonly site: number
  readonly pair: number
  /** Whether the last request about the same topic and callback is equal; null: there is none. */
  readonly repeated: boolean | null
}

type Claim = Parameters<VerificationQueue["Service"]["claim"]>[0]

/** Stored numbers: append only. */
const queues: ReadonlyArray<VerificationLane> = ["new", "confirmed", "api"]

/** Due requests that one claim reads. Many may have to wait before one of another site is found. */
const maxCandidates = 500

export const layer = Layer.effect(
  VerificationQueue,
  SqlClient.SqlClient.useSync((sql) =>
    VerificationQueue.of({
      add: add(sql),
      contains: contains(sql),
      claim: claim(sql),
      settle: settle(sql),
      deny: deny(sql),
      reserve: takeTurn(sql)
    })
  )
)

const add = (sql: SqlClient.SqlClient) =>
  Effect.fn("VerificationQueue.add")(function*(request: Verification, queue: VerificationLane) {
    const now = yield* Clock.currentTimeMillis
    const key = verificationKey(request.subscription)
    const site = quotaKeyOf(queue, request.subscription)
    const json = JSON.stringify(request)
    return yield* run(Effect.gen(function*() {
      const [waiting] = yield* sql.unsafe<CountRow>(
        `select (select count(*)::float8 from verifications where queue = $1::int2) as queue,
          (select count(*)::float8 from verifications where site = $2) as site,
          (select count(*)::float8 from verifications where key = $3::bytea) as pair,
          (select request = $4 and not claimed from verifications where key = $3::bytea order by id desc limit 1) as repeated`,
        [queues.indexOf(queue), site, key, json]
      )
      const max = maxWaitingVerifications[queue]
      if (waiting?.repeated === true) return "added" as const
      if (waiting !== undefined && waiting.queue >= max.perLane) return "lane-full" as const
      if (waiting !== undefined && (waiting.site >= max.perQuota || waiting.pair >= max.perSubscription)) {
        return "site-full" as const
      }
      yield* sql.unsafe(
        `insert into verifications (key, queue, site, request, due_at) values ($1::bytea, $2::int2, $3, $4,
          ${instant("$5::float8")})`,
        [key, queues.indexOf(queue), site, json, now]
      )
      return "added" as const
    }))
  })

const contains = (sql: SqlClient.SqlClient) =>
  Effect.fn("VerificationQueue.contains")(function*(wanted: NewSubscription) {
    const rows = yield* run(
      sql.unsafe(`select from verifications where key = $1::bytea limit 1`, [verificationKey(wanted)])
    )
    return rows.length > 0
  })

/**
 * Recent requests of some sites, locked until the transaction ends.
 * Sites are locked in order of their names, so that two claims cannot deadlock.
 */
const lockPacing = Effect.fnUntraced(function*(sql: SqlClient.SqlClient, sites: ReadonlyArray<string>) {
  const names = column.texts([...new Set(sites)].toSorted())
  yield* sql.unsafe(
    `insert into verification_pacing (site, requested_at) select name, '{}' from unnest($1::text[]) name order by name
    on conflict (site) do nothing`,
    [names]
  )
  const rows = yield* sql.unsafe<{ site: string; requestedAt: SlidingWindow }>(
    `select site, requested_at as "requestedAt" from verification_pacing where site = any($1::text[]) order by site for update`,
    [names]
  )
  return new Map(rows.map(({ requestedAt, site }) => [site, requestedAt]))
})

const savePacing = (sql: SqlClient.SqlClient, site: string, requestedAt: SlidingWindow) =>
  sql.unsafe(
    `insert into verification_pacing (site, requested_at) values ($1, $2::float8[])
    on conflict (site) do update set requested_at = excluded.requested_at`,
    [site, column.numbers(requestedAt)]
  )

/** Due requests, each the first about its topic and callback. */
const selectDue = (sql: SqlClient.SqlClient, queue: VerificationLane, now: number) =>
  sql.unsafe<DueRow>(
    `select id::float8 as id, site, request from verifications v
    where queue = $2::int2 and (due_at <= ${instant("$1::float8")} or due_at > ${instant("$3::float8")})
      and not exists (select from verifications earlier where earlier.key = v.key and earlier.id < v.id)
    order by due_at, id limit ${maxCandidates} for update skip locked`,
    [now, queues.indexOf(queue), now + maxVerificationDelayMs]
  )

const claimDue = Effect.fnUntraced(function*(sql: SqlClient.SqlClient, { lane, limit, perMinute }: Claim, now: number) {
  const rows = yield* selectDue(sql, lane, now)
  if (rows.length === 0) return []
  const pacing = perMinute === undefined ? undefined : yield* lockPacing(sql, rows.map(({ site }) => site))
  const { allowed, deferred, windows } = perMinute === undefined
    ? { allowed: rows.slice(0, limit), deferred: [], windows: [] }
    : allocate(rows, (site) => pacing?.get(site) ?? [], now, { limit, perMinute })
  yield* Effect.forEach(windows, ([site, requestedAt]) => savePacing(sql, site, requestedAt), { discard: true })
  yield* sql.unsafe(
    `update verifications v set due_at = ${instant("p.due")}, claimed = p.claimed
    from unnest($1::int8[], $2::float8[], $3::bool[]) p(id, due, claimed) where v.id = p.id`,
    [
      column.ids([...allowed.map(({ id }) => id), ...deferred.map(({ request }) => request.id)]),
      column.numbers([...allowed.map(() => now + claimTimeMs), ...deferred.map(({ dueAt }) => dueAt)]),
      column.booleans([...allowed.map(() => true), ...deferred.map(() => false)])
    ]
  )
  return allowed.map(({ id, request }): ClaimedVerification => ({
    id,
    verification: decodeVerification(request)
  }))
})

const claim = (sql: SqlClient.SqlClient) =>
  Effect.fn("VerificationQueue.claim")(function*(options: Claim) {
    const now = yield* Clock.currentTimeMillis
    return yield* run(retryConflicts(sql.withTransaction(claimDue(sql, options, now))))
  })

const settle = (sql: SqlClient.SqlClient) =>
  Effect.fn("VerificationQueue.settle")(function*({ id }: ClaimedVerification) {
    yield* run(sql.unsafe(`delete from verifications where id = $1::int8`, [BigInt(id)]))
  })

/** Replaces a request by its denial. With a later request about the same topic and callback it only deletes the request. */
const deny = (sql: SqlClient.SqlClient) =>
  Effect.fn("VerificationQueue.deny")(function*({ id, verification }: ClaimedVerification, reason: string) {
    const denial: Verification = { mode: "denied", subscription: verification.subscription, reason }
    yield* run(sql.unsafe(
      `with gone as (
        delete from verifications v where id = $1::int8
          and exists (select from verifications later where later.key = v.key and later.id > v.id) returning id
      )
      update verifications set request = $2, claimed = false, due_at = ${instant("$3::float8")}
      where id = $1::int8 and not exists (select from gone)`,
      [BigInt(id), JSON.stringify(denial), yield* Clock.currentTimeMillis]
    ))
  })

const takeTurn = (sql: SqlClient.SqlClient) =>
  Effect.fn("VerificationQueue.takeTurn")(function*(site: string, perMinute: number) {
    const now = yield* Clock.currentTimeMillis
    return yield* run(retryConflicts(sql.withTransaction(Effect.gen(function*() {
      const requestedAt = (yield* lockPacing(sql, [site])).get(site) ?? []
      const at = nextAllowedAt(requestedAt, now, perMinute)
      if (at === now) yield* savePacing(sql, site, addRequest(requestedAt, now, perMinute))
      return at - now
    }))))
  })

const verificationKey = ({ accountId, endpoint, face, topic }: NewSubscription): Buffer =>
  createHash("sha256").update(JSON.stringify([accountId, face, topic.canonical, endpoint])).digest()
