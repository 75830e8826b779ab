import { Clock, Effect, Result } from "effect"
import type { SqlClient } from "effect/sql"
import { allocate, type InFlight, maxOrderedTurns, pacedAt, ratesOf, windowKeys } from "#domain/limits/FairTurns.ts"
import { addRequest, type SlidingWindow } from "#domain/limits/SlidingWindow.ts"
import {
  type ClaimedVerification,
  claimTimeMs,
  maxVerificationDelayMs,
  turnLimitsOf,
  type VerificationLane,
  type VerificationQueue
} from "#domain/ports/VerificationQueue.ts"
import { retryConflicts, run } from "./Query.ts"
import type { Box } from "./SecretBox.ts"
import { decodeVerification } from "./StoredJson.ts"
import { column, instant } from "./Values.ts"

interface DueRow {
  readonly id: number
  readonly network: string
  readonly site: string
  readonly target: string
  readonly key: Uint8Array
  readonly request: Uint8Array
}

interface InFlightRow {
  readonly network: string
  readonly target: string
  readonly count: number
}

type Claim = Parameters<VerificationQueue["Service"]["claim"]>[0]
type Reserve = VerificationQueue["Service"]["reserve"]

/** Stored numbers: append only. */
export const queues: ReadonlyArray<VerificationLane> = ["new", "confirmed", "api"]

/** Binds a sealed request to its topic and callback, see `verifications.key`. */
export const requestPurpose = (key: Uint8Array): string =>
  JSON.stringify(["verifications.request", Buffer.from(key).toString("hex")])

/** Due requests that one claim reads, the first ones of each network before the second ones. */
const maxCandidates = 500

/**
 * Recent requests to some sites and targets, locked until the transaction ends.
 * Keys are locked in order of their names, so that two claims cannot deadlock.
 */
const lockPacing = Effect.fnUntraced(function*(sql: SqlClient.SqlClient, keys: ReadonlyArray<string>) {
  const names = column.texts([...new Set(keys)].toSorted())
  yield* sql.unsafe(
    `insert into verification_pacing (site, requested_at) select name, '{}' from unnest($1::text[]) name order by name
    on conflict (site) do nothing`,
    [names]
  )
  const rows = yield* sql.unsafe<{ site: string; requestedAt: SlidingWindow }>(
    `select site, requested_at as "requestedAt" from verification_pacing where site = any($1::text[]) order by site for update`,
    [names]
  )
  const windows = new Map(rows.map(({ requestedAt, site }) => [site, requestedAt]))
  return (key: string): SlidingWindow => windows.get(key) ?? []
})

const savePacing = (sql: SqlClient.SqlClient, key: string, requestedAt: SlidingWindow) =>
  sql.unsafe(
    `insert into verification_pacing (site, requested_at) values ($1, $2::float8[])
    on conflict (site) do update set requested_at = excluded.requested_at`,
    [key, column.numbers(requestedAt)]
  )

/** Condition: due, and the first row about its topic and callback. A due time far ahead comes from a clock that was ahead. */
const isDue = `(v.due_at <= ${instant("$1::float8")} or v.due_at > ${instant("$3::float8")})
  and not exists (select from verifications earlier where earlier.key = v.key and earlier.id < v.id)`

/** The oldest and the newest due rows of each network. The networks are found by an index, one after the other. */
const dueSql = `
  with recursive networks as (
    (select network from verifications where queue = $2::int2 order by network limit 1)
    union all
    select (select v.network from verifications v where v.queue = $2::int2 and v.network > n.network order by v.network limit 1)
    from networks n where n.network is not null
  ), picked as (
    select d.id, min(d.turn) as turn from networks n cross join lateral (
      (select v.id, row_number() over (order by v.due_at, v.id) as turn from verifications v
      where v.queue = $2::int2 and v.network = n.network and ${isDue} order by v.due_at, v.id limit $4::int4)
      union all
      (select v.id, row_number() over (order by v.id desc) as turn from verifications v
      where v.queue = $2::int2 and v.network = n.network and ${isDue} order by v.id desc limit $5::int4)
    ) d group by d.id order by turn limit ${maxCandidates}
  )
  select id::float8 as id, network, site, target, key, request from verifications v
  where id = any(array(select id from picked)) and ${isDue} order by due_at, id for update skip locked`

const selectInFlight = Effect.fnUntraced(function*(sql: SqlClient.SqlClient, queue: number, now: number) {
  const rows = yield* sql.unsafe<InFlightRow>(
    `select network, target, count(*)::float8 as count from verifications
    where queue = $1::int2 and claimed and due_at > ${instant("$2::float8")} and due_at <= ${instant("$3::float8")}
    group by network, target`,
    [queue, now, now + claimTimeMs]
  )
  return { networks: sumBy(rows, "network"), targets: sumBy(rows, "target") } satisfies InFlight
})

const sumBy = (rows: ReadonlyArray<InFlightRow>, key: "network" | "target"): ReadonlyMap<string, number> => {
  const sums = new Map<string, number>()
  for (const row of rows) sums.set(row[key], (sums.get(row[key]) ?? 0) + row.count)
  return sums
}

const claimDue = Effect.fnUntraced(
  function*(sql: SqlClient.SqlClient, box: Box, { lane, limit, perMinute }: Claim, now: number) {
    const queue = queues.indexOf(lane)
    const turnLimits = turnLimitsOf(lane)
    const [oldest, newest] = turnLimits.ends === "both"
      ? [maxOrderedTurns, maxOrderedTurns]
      : [turnLimits.maxPerNetwork, 0]
    const rows = yield* sql.unsafe<DueRow>(dueSql, [now, queue, now + maxVerificationDelayMs, oldest, newest])
    if (rows.length === 0) return []
    const inFlight = yield* selectInFlight(sql, queue, now)
    const windowOf = perMinute === undefined
      ? () => []
      : yield* lockPacing(sql, rows.flatMap(windowKeys))
    const limits = { limit, perMinute, ...turnLimits }
    const { allowed, deferred, windows } = allocate(rows, windowOf, inFlight, now, limits)
    yield* Effect.forEach(windows, ([key, requestedAt]) => savePacing(sql, key, requestedAt), { discard: true })
    yield* sql.unsafe(
      `update verifications v set due_at = ${instant("p.due")}, claimed = p.claimed
    from unnest($1::int8[], $2::float8[], $3::bool[]) p(id, due, claimed) where v.id = p.id`,
      [
        column.ids([...allowed.map(({ id }) => id), ...deferred.map(({ request }) => request.id)]),
        column.numbers([...allowed.map(() => now + claimTimeMs), ...deferred.map(({ dueAt }) => dueAt)]),
        column.booleans([...allowed.map(() => true), ...deferred.map(() => false)])
      ]
    )
    const opened = allowed.map(({ id, key, request }) => ({ id, json: box.open(request, requestPurpose(key)) }))
    yield* removeUnreadable(sql, opened.filter(({ json }) => Result.isFailure(json)).map(({ id }) => id))
    return opened.flatMap(({ id, json }): ReadonlyArray<ClaimedVerification> =>
      Result.isSuccess(json) ? [{ id, verification: decodeVerification(json.success) }] : []
    )
  }
)

/** Drops requests that cannot be decrypted: repetitions would fail as well, and hold up later requests for the same subscription. */
const removeUnreadable = Effect.fnUntraced(function*(sql: SqlClient.SqlClient, ids: ReadonlyArray<number>) {
  if (ids.length === 0) return
  yield* sql.unsafe(`delete from verifications where id = any($1::int8[])`, [column.ids(ids)])
  yield* Effect.logError(
    "Stored verification requests cannot be decrypted, and are dropped. Their subscribers have to subscribe again."
  ).pipe(Effect.annotateLogs({ requests: ids.length }))
})

export const claim = (sql: SqlClient.SqlClient, box: Box) =>
  Effect.fn("VerificationQueue.claim")(function*(options: Claim) {
    const now = yield* Clock.currentTimeMillis
    return yield* run(retryConflicts(sql.withTransaction(claimDue(sql, box, options, now))))
  })

export const reserve = (sql: SqlClient.SqlClient) =>
  Effect.fn("VerificationQueue.reserve")(
    function*(quota: Parameters<Reserve>[0], perMinute: number) {
      const now = yield* Clock.currentTimeMillis
      return yield* run(retryConflicts(sql.withTransaction(Effect.gen(function*() {
        const windowOf = yield* lockPacing(sql, windowKeys(quota))
        const at = pacedAt(quota, windowOf, now, perMinute)
        if (at > now) return at - now
        yield* Effect.forEach(
          ratesOf(quota, perMinute),
          ([key, rate]) => savePacing(sql, key, addRequest(windowOf(key), now, rate)),
          { discard: true }
        )
        return 0
      }))))
    }
  )
