import { Clock, Effect, Exit, Layer, Option, Schedule, Semaphore } from "effect"
import { SqlClient } from "effect/sql"
import { ofString } from "#domain/Fingerprint.ts"
import type { Delivery } from "#domain/delivery/Notification.ts"
import { type PollWrite, ResourceStore } from "#domain/ports/ResourceStore.ts"
import type { ResourceProfile, UnchangedPoll } from "#domain/poll/Resource.ts"
import { partitionCount } from "#domain/Topic.ts"
import { checkLength, newsOf, notificationOf } from "./NotificationContent.ts"
import { batched, chunksOf } from "./Batched.ts"
import { formats } from "./Formats.ts"
import { prepare, type Prepared, type RecordedRow, recordParameters, recordSql } from "./RecordStatement.ts"
import {
  live,
  profileColumns,
  profileOf,
  type ProfileRow,
  resourceOf,
  type ResourceRow,
  resourceTables,
  selectResources
} from "./ResourceRows.ts"
import { column, filled, instant, unsigned } from "./Values.ts"
import { retryConflicts, run } from "./Query.ts"

/** Unchanged polls are written when there are so many, or after so many ms. */
const touchBatch = 2_048
const touchDelay = 1_500

/** Bytes of entries and documents in one statement, about; a single change may have more. */
const roundBytes = 16 * 1024 * 1024

export const layer = Layer.effect(
  ResourceStore,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    let touched = new Map<number, UnchangedPoll>()
    let flushing: ReadonlyMap<number, UnchangedPoll> = new Map()

    /** The stored row may be behind: an unchanged poll is seen before it is written. */
    const current = <R extends ResourceProfile>(resource: R): R => {
      const polled = touched.get(resource.id) ?? flushing.get(resource.id)
      return polled === undefined || (resource.lastFetch ?? 0) > polled.lastFetch
        ? resource
        : { ...resource, ...polled }
    }

    const find = Effect.fn("ResourceStore.find")(function*(url: string) {
      if (url.includes("\u0000")) return Option.none() // the database would refuse the question
      const now = yield* Clock.currentTimeMillis
      const rows = yield* run(sql.unsafe<ResourceRow>(
        `${selectResources} where r.key = substring(sha256(convert_to($2, 'UTF8')) for 16) and r.url = $2`,
        [now, url]
      ))
      return Option.map(Option.fromNullishOr(rows[0]), (row) => current(resourceOf(row)))
    })

    const seenBy = Effect.fn("ResourceStore.seenBy")(function*(accountId: number, url: string) {
      if (url.includes("\u0000")) return Option.none()
      const [row] = yield* run(sql.unsafe<SeenRow>(seenSql, [url, accountId]))
      if (row === undefined) return Option.none()
      const { format } = formats[row.format ?? -1] ?? {}
      return Option.some({ resource: current(profileOf(row.id, row)), ...(format !== undefined && { format }) })
    })

    const fragments = Effect.fn("ResourceStore.fragments")(function*(page: string, limit: number) {
      if (page.includes("\u0000")) return []
      const now = yield* Clock.currentTimeMillis
      const rows = yield* run(sql.unsafe<{ id: number }>(
        `select r.id::float8 as id from resources r
      where md5(split_part(r.url, '#', 1)) = md5($2) and r.url like '%#%' and split_part(r.url, '#', 1) = $2
        and exists (select from subscriptions u where u.resource_id = r.id and ${live("u")})
      order by r.id limit $3`,
        [now, page, limit]
      ))
      return rows.map(({ id }) => id)
    })

    const load = batched({
      spacing: 5,
      max: 1_000,
      run: Effect.fnUntraced(function*(ids: ReadonlyArray<number>) {
        const now = yield* Clock.currentTimeMillis
        const rows = yield* run(
          sql.unsafe<ResourceRow>(`${selectResources} where r.id = any($2::int8[])`, [
            now,
            column.ids(filled(ids, ids[0] ?? 0))
          ])
        )
        const byId = new Map(rows.map((row) => [row.id, current(resourceOf(row))]))
        return ids.map((id) => Option.fromNullishOr(byId.get(id)))
      })
    })

    /** Of all partitions that a runner wakes together: to look each of them up costs as much as reading everything, once they are a few. */
    const alarms = batched({
      gathering: 20,
      spacing: 20,
      max: partitionCount,
      run: Effect.fnUntraced(function*(asked: ReadonlyArray<number>) {
        const now = yield* Clock.currentTimeMillis
        const rows = yield* run(sql.unsafe<{ partition: number; packed: Uint8Array }>(
          alarmsSql(asked.length > fewPartitions),
          [now, column.integers(asked)]
        ))
        const packed = new Map(rows.map((row) => [row.partition, row.packed]))
        return asked.map((partition) => {
          const { dueAt, ids } = alarmsOf(packed.get(partition) ?? new Uint8Array())
          ids.forEach((id, i) => {
            const polled = touched.get(id) ?? flushing.get(id)
            if (polled !== undefined) dueAt[i] = polled.nextFetch
          })
          return { ids, dueAt }
        })
      })
    })

    const writeTouched = Effect.suspend(() => {
      const rows = [...touched.values()].toSorted((a, b) => a.id - b.id)
      flushing = touched
      touched = new Map() // one that is cleared keeps what it held alive for a while
      return Effect.forEach(
        chunksOf(rows, touchBatch),
        (chunk) => run(retryConflicts(sql.unsafe(touchSql, touchParameters(chunk)))),
        { discard: true }
      ).pipe(
        Effect.onExit((exit) => Effect.sync(() => keep(Exit.isSuccess(exit) ? new Map() : flushing)))
      )
    })
    const keep = (unwritten: ReadonlyMap<number, UnchangedPoll>) => {
      for (const [id, polled] of unwritten) if (!touched.has(id)) touched.set(id, polled)
      flushing = new Map()
    }
    const turns = yield* Semaphore.make(1)
    const flush = turns.withPermits(1)(writeTouched)

    const recordOnce = Effect.fnUntraced(function*(changes: ReadonlyArray<Prepared>) {
      const now = yield* Clock.currentTimeMillis
      const rows = yield* run(retryConflicts(sql.unsafe<RecordedRow>(recordSql, recordParameters(changes, now))))
      const byResource = Map.groupBy(rows, ({ resource }) => resource)
      return changes.map(({ change }) => deliveriesOf(change, byResource.get(change.state.id) ?? [], now))
    })

    const record = batched<Prepared, ReadonlyArray<Delivery>>({
      spacing: 100,
      max: 64,
      run: Effect.fnUntraced(function*(changes) {
        const answers = new Map<Prepared, ReadonlyArray<Delivery>>()
        for (const round of roundsOf(changes)) {
          const recorded = yield* recordOnce(round)
          round.forEach((change, i) => answers.set(change, recorded[i] ?? []))
        }
        return changes.map((change) => answers.get(change) ?? [])
      })
    })

    yield* flush.pipe(
      Effect.catchTag(
        "StoreError",
        (error) => Effect.logWarning(`unchanged polls are not written yet: ${error.message}`)
      ),
      Effect.repeat(Schedule.spaced(touchDelay)),
      Effect.forkScoped
    )
    yield* Effect.addFinalizer(() => Effect.ignore(flush))

    return ResourceStore.of({
      find,
      findSubscribed: seenBy,
      findFragments: fragments,
      load,
      alarms,
      touch: (polled) =>
        Effect.suspend(() => {
          touched.set(polled.id, polled)
          return touched.size === touchBatch ? Effect.ignore(flush) : Effect.void
        }),
      record: (change) =>
        Effect.suspend(() => {
          const prepared = prepare(change)
          return Effect.andThen(checkLength(change, prepared.bodies), record(prepared))
        }),
      flush
    })
  })
)

interface SeenRow extends ProfileRow {
  readonly id: number
  readonly format: number | null
}

/**
 * What an account sees of a URL ($1), by its first subscription; of an account with more than a thousand of them, by the first of a thousand.
 *
 * Those are taken in the order of the index that has them: in that of the primary key, or in none, PostgreSQL hopes for matches soon, and walks
 * everybody's subscriptions.
 */
export const seenSql = `
  select r.id::float8 as id, u.format, ${profileColumns} from ${resourceTables}
  join lateral (
    select format from (
      select id, format from subscriptions where resource_id = r.id and account_id = $2::int4 order by endpoint, face limit 1000
    ) mine order by id limit 1
  ) u on true
  where r.key = substring(sha256(convert_to($1, 'UTF8')) for 16) and r.url = $1`

/** A poll that is older than the stored one changes nothing: another owner was there meanwhile. By more than a day, it was a clock that was ahead. */
const touchSql = `
  update schedule s set next_fetch = ${instant("p.next_fetch")}, last_fetch = ${instant("p.last_fetch")},
    period = p.period, http_code = p.code, failures = p.failures
  from unnest($1::int8[], $2::float8[], $3::float8[], $4::int4[], $5::int4[], $6::int4[]) p(id, next_fetch, last_fetch, period, code, failures)
  where s.resource_id = p.id and (s.last_fetch is null or s.last_fetch <= ${instant("p.last_fetch")}
    or s.last_fetch > ${instant("p.last_fetch")} + interval '1 day')`

const touchParameters = (rows: ReadonlyArray<UnchangedPoll>) => [
  column.ids(rows.map(({ id }) => id)),
  column.numbers(rows.map(({ nextFetch }) => nextFetch)),
  column.numbers(rows.map(({ lastFetch }) => lastFetch)),
  column.integers(rows.map(({ period }) => period)),
  column.integers(rows.map(({ code }) => code)),
  column.integers(rows.map(({ failures }) => failures))
]

/** A statement writes a resource once, and holds about `roundBytes` at most: each round is one, and later changes wait for a later one. */
const roundsOf = (changes: ReadonlyArray<Prepared>): ReadonlyArray<ReadonlyArray<Prepared>> => {
  const rounds: Array<{ readonly changes: Array<Prepared>; bytes: number }> = []
  const lastRound = new Map<number, number>()
  for (const prepared of changes) {
    let at = (lastRound.get(prepared.change.state.id) ?? -1) + 1
    for (let there = rounds[at]; there !== undefined && there.bytes + prepared.bytes > roundBytes; there = rounds[at]) {
      at++
    }
    const round = rounds[at] ??= { changes: [], bytes: 0 }
    round.changes.push(prepared)
    round.bytes += prepared.bytes
    lastRound.set(prepared.change.state.id, at)
  }
  return rounds.map(({ changes }) => changes)
}

/** So many partitions are looked up one by one. */
const fewPartitions = 2

/**
 * Id and time of each watched resource, packed by partition: a million rows as rows would take many times as long.
 *
 * With `everything` the condition is one that no index serves. A million resources are read in some seconds then; in the order of their
 * partitions they lie on a page of their own each, and every page is read a hundred times.
 */
const alarmsSql = (everything: boolean): string => `
  select r.partition::int4 as partition, string_agg(int8send(r.id) || timestamptz_send(s.next_fetch), '') as packed
  from resources r join schedule s on s.resource_id = r.id
  where r.partition ${everything ? "+ 0" : ""} = any($2::int4[])
    and exists (select from subscriptions u where u.resource_id = r.id and ${live("u")})
  group by r.partition`

/** The server's times are microseconds since 2000-01-01. */
const serverEpoch = 946_684_800_000

/** By id. */
const alarmsOf = (packed: Uint8Array): { readonly ids: Float64Array; readonly dueAt: Float64Array } => {
  const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength)
  const count = packed.byteLength / 16
  const read = Float64Array.from({ length: count }, (_, i) => Number(view.getBigInt64(i * 16)))
  const order = Uint32Array.from({ length: count }, (_, i) => i).toSorted((a, b) => (read[a] ?? 0) - (read[b] ?? 0))
  return {
    ids: Float64Array.from(order, (i) => read[i] ?? 0),
    dueAt: Float64Array.from(order, (i) => Number(view.getBigInt64(i * 16 + 8)) / 1000 + serverEpoch)
  }
}

/** The deliveries of a change share one notification, made of what the statement says was written. */
const deliveriesOf = (change: PollWrite, rows: ReadonlyArray<RecordedRow>, now: number): ReadonlyArray<Delivery> => {
  const [first] = rows
  if (first === undefined) return []
  const written = new Set(first.hashes?.map(unsigned))
  const news = newsOf(change, (id) => written.has(ofString(id)), first.whole)
  if (news === undefined) return []
  const notification = notificationOf(change, news, first.notification, now)
  return rows.map(({ credits, id, sequence, subscription }) => ({
    id,
    subscriptionId: subscription,
    sequence,
    credits,
    attempt: 0,
    dueAt: now,
    waitsSince: now,
    notification
  }))
}
