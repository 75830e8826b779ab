import { Clock, Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { UnchangedPoll } from "#domain/poll/Resource.ts"
import { partitionCount } from "#domain/Topic.ts"
import { batched } from "./Batched.ts"
import { hasRow, isLive } from "./Conditions.ts"
import { run } from "./Query.ts"
import { column, instant } from "./Values.ts"

/** Up to so many partitions are looked up one by one. */
const maxLookedUp = 2

/** The wanted partitions, of the type of the columns. */
const isWanted = "any($2::int4[]::int2[])"

/** Reads the alarms of all partitions that a runner wakes together. `touchOf` returns a poll that is not stored yet. */
export const makeReadAlarms = (sql: SqlClient.SqlClient, touchOf: (resourceId: number) => UnchangedPoll | undefined) =>
  batched({
    gatheringMs: 20,
    maxInputs: partitionCount,
    run: Effect.fnUntraced(function*(wanted: ReadonlyArray<number>) {
      const now = yield* Clock.currentTimeMillis
      const rows = yield* run(sql.unsafe<AlarmRow & { readonly partition: number }>(
        selectAlarms(wanted.length > maxLookedUp),
        [now, column.integers(wanted)]
      ))
      const byPartition = new Map(rows.map((row) => [row.partition, row]))
      return wanted.map((partition) => {
        const row = byPartition.get(partition) ?? emptyPartition
        const unwatched = new Set(unpackIntegers(row.unwatched ?? noBytes))
        const { dueAt, ids } = unpackAlarms(row, unwatched)
        ids.forEach((id, i) => {
          const polled = touchOf(id)
          if (polled !== undefined) dueAt[i] = polled.nextFetch
        })
        return { ids, dueAt, failing: unpackIntegers(row.failing ?? noBytes).filter((id) => !unwatched.has(id)) }
      })
    })
  })

interface AlarmRow {
  readonly ids: Uint8Array
  readonly due: Uint8Array
  readonly failing: Uint8Array | null
  readonly unwatched: Uint8Array | null
}

const noBytes = new Uint8Array()
const emptyPartition = { ids: noBytes, due: noBytes, failing: null, unwatched: null }

/**
 * Ids and due times of the resources, packed by partition, because a million rows would take many times as long. `unwatched` has the ids of
 * these resources without an active subscription.
 *
 * A start reads the narrow table alone, in one scan. Joins with the resources and their subscriptions took four times as long, because
 * a million rows leave the working memory. The resources to leave out are few, and found by partial indexes. Each of these is looked up,
 * because another subscription may be active, and `unwatched_since` lags behind transactions that overlap.
 *
 * Both sides of `any` have the type of the column, or PostgreSQL would compare each row with all partitions instead of hashing these.
 */
const selectAlarms = (scan: boolean): string => `
  with due as (
    select s.partition, string_agg(int8send(s.resource_id), '') as ids, string_agg(timestamptz_send(s.next_fetch), '') as due,
      string_agg(int8send(s.resource_id), '') filter (where s.failures > 0) as failing
    from schedule s ${scan ? "" : `join resources r on r.id = s.resource_id and r.partition = ${isWanted}`}
    where s.partition = ${isWanted} group by s.partition
  ), unwatched as (
    select r.partition, string_agg(int8send(r.id), '') as ids from resources r
    where r.partition = ${isWanted} and r.id = any(array(
        select id from resources where partition = ${isWanted} and unwatched_since is not null
        union select resource_id from subscriptions where lease_until <= ${instant("$1::float8")}
        union select resource_id from subscriptions where state = 2 and channel <> 0
      )) and not ${hasRow(`subscriptions u where u.resource_id = r.id and ${isLive("u")}`)}
    group by r.partition
  )
  select partition::int4, due.ids, due.due, failing, unwatched.ids as unwatched from due left join unwatched using (partition)`

/** Epoch ms of 2000-01-01, from which the server counts microseconds. */
const serverEpochMs = 946_684_800_000

/** Sorted by id. A scan mostly returns the rows in this order. */
const unpackAlarms = (row: AlarmRow, unwatched: ReadonlySet<number>) => {
  const ids = unpackIntegers(row.ids)
  const dueAt = unpackIntegers(row.due)
  let count = 0
  let isSorted = true
  ids.forEach((id, i) => {
    if (unwatched.has(id)) return
    isSorted &&= count === 0 || id > (ids[count - 1] ?? 0)
    ids[count] = id
    dueAt[count++] = (dueAt[i] ?? 0) / 1000 + serverEpochMs
  })
  if (isSorted) return { ids: ids.slice(0, count), dueAt: dueAt.slice(0, count) }
  const order = Uint32Array.from({ length: count }, (_, i) => i).toSorted((a, b) => (ids[a] ?? 0) - (ids[b] ?? 0))
  return { ids: Float64Array.from(order, (i) => ids[i] ?? 0), dueAt: Float64Array.from(order, (i) => dueAt[i] ?? 0) }
}

/** 64-bit integers of less than 54 bits. A BigInt for each of a million values would take longer. */
const unpackIntegers = (packed: Uint8Array): Float64Array => {
  const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength)
  const integers = new Float64Array(packed.byteLength / 8)
  for (let i = 0; i < integers.length; i++) {
    integers[i] = view.getInt32(i * 8) * 0x1_0000_0000 + view.getUint32(i * 8 + 4)
  }
  return integers
}
