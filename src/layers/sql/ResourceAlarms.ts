import { Clock, Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { UnchangedPoll } from "#domain/poll/Resource.ts"
import { partitionCount } from "#domain/Topic.ts"
import { batched } from "./Batched.ts"
import { isLive } from "./Conditions.ts"
import { run } from "./Query.ts"
import { column } from "./Values.ts"

/** Up to so many partitions are looked up one by one. */
const maxLookedUp = 2

/** Reads the alarms of all partitions that a runner wakes together. `touchOf` returns a poll that is not stored yet. */
export const makeReadAlarms = (sql: SqlClient.SqlClient, touchOf: (resourceId: number) => UnchangedPoll | undefined) =>
  batched({
    gatheringMs: 20,
    maxInputs: partitionCount,
    run: Effect.fnUntraced(function*(wanted: ReadonlyArray<number>) {
      const now = yield* Clock.currentTimeMillis
      const rows = yield* run(sql.unsafe<AlarmRow>(
        selectAlarms(wanted.length > maxLookedUp),
        [now, column.integers(wanted)]
      ))
      const byPartition = new Map(rows.map((row) => [row.partition, row]))
      return wanted.map((partition) => {
        const row = byPartition.get(partition)
        const { dueAt, ids } = unpackAlarms(row?.packed ?? new Uint8Array())
        ids.forEach((id, i) => {
          const polled = touchOf(id)
          if (polled !== undefined) dueAt[i] = polled.nextFetch
        })
        return { ids, dueAt, failing: unpackIds(row?.failing ?? new Uint8Array()) }
      })
    })
  })

interface AlarmRow {
  readonly partition: number
  readonly packed: Uint8Array
  readonly failing: Uint8Array | null
}

/**
 * Id and due time of each watched resource, packed by partition: a million rows would take many times as long.
 *
 * With `scan` no index fits the condition, and a sequential scan reads a million resources in some seconds.
 * In order of their partitions, each resource lies on another page, and every page is read a hundred times.
 */
const selectAlarms = (scan: boolean): string => `
  select r.partition::int4 as partition, string_agg(int8send(r.id) || timestamptz_send(s.next_fetch), '') as packed,
    string_agg(int8send(r.id), '') filter (where s.failures > 0) as failing
  from resources r join schedule s on s.resource_id = r.id
  where r.partition ${scan ? "+ 0" : ""} = any($2::int4[])
    and exists (select from subscriptions u where u.resource_id = r.id and ${isLive("u")})
  group by r.partition`

/** Epoch ms of 2000-01-01, from which the server counts microseconds. */
const serverEpochMs = 946_684_800_000

/** Sorted by id. A scan mostly returns the rows in this order. */
const unpackAlarms = (packed: Uint8Array): { readonly ids: Float64Array; readonly dueAt: Float64Array } => {
  const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength)
  const count = packed.byteLength / 16
  const ids = new Float64Array(count)
  const dueAt = new Float64Array(count)
  let isSorted = true
  for (let i = 0, id = 0; i < count; i++) {
    const before = id
    ids[i] = id = readInteger(view, i * 16)
    dueAt[i] = readInteger(view, i * 16 + 8) / 1000 + serverEpochMs
    isSorted &&= before < id
  }
  if (isSorted) return { ids, dueAt }
  const order = Uint32Array.from({ length: count }, (_, i) => i).toSorted((a, b) => (ids[a] ?? 0) - (ids[b] ?? 0))
  return { ids: Float64Array.from(order, (i) => ids[i] ?? 0), dueAt: Float64Array.from(order, (i) => dueAt[i] ?? 0) }
}

/** Reads a 64-bit integer of less than 54 bits; a BigInt for each of a million values would take longer. */
const readInteger = (view: DataView, at: number): number => view.getInt32(at) * 0x1_0000_0000 + view.getUint32(at + 4)

const unpackIds = (packed: Uint8Array): Float64Array => {
  const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength)
  return Float64Array.from({ length: packed.byteLength / 8 }, (_, i) => readInteger(view, i * 8))
}
