import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { BoundedMap } from "#domain/collections/BoundedMap.ts"
import { MaxResourceBytes } from "#domain/ports/ResourceStore.ts"
import { retryConflicts, run } from "./Query.ts"

/** Resources whose written bytes are counted, at most. */
const maxCounted = 50_000

/** A resource is measured again when this share of its maximum was written. So the measure costs little beside the writes. */
const measureShare = 1 / 8

/** A trim leaves this share of the maximum, so that the next one is far away. */
const keptShare = 3 / 4

/** The reason of a delivery that is dropped for its bytes, as `windhover deliveries` and the retries show it. */
const droppedMessage = "Dropped: the waiting notifications of this resource exceed the bytes that are stored for it."

/** A row of the resource from the newest to the oldest, with the bytes up to and including this row. */
const ranked = `
  select *, sum(bytes) over (order by at desc, kind, id desc) as total from (
    select 'n' as kind, id, created_at as at,
      coalesce(octet_length(document), 0) + octet_length(status) + coalesce(octet_length(header), 0) as bytes
    from notifications where resource_id = $1::int8
    union all select 'e', seq, first_seen, octet_length(body) from entries where resource_id = $1::int8
  ) stored`

const isWaiting = (notification: string) =>
  `exists (select from deliveries d where d.notification_id = ${notification} and d.state = 0)`

/**
 * Keeps the entries and notifications of each resource within their bytes, after writes.
 *
 * Oldest rows go first. A notification with a waiting delivery stays, with its entries, up to twice the maximum; beyond, its oldest
 * deliveries are dropped and stay visible. The lengths of stored values are known without reading the values.
 */
export const makeResourceBytes = Effect.fnUntraced(function*(sql: SqlClient.SqlClient) {
  const maxBytes = yield* MaxResourceBytes
  const written = new BoundedMap<number, number>(maxCounted)

  /** Counts written bytes, and returns the resources to measure. */
  const count = (writes: Iterable<{ readonly id: number; readonly bytes: number }>): ReadonlyArray<number> => {
    const due: Array<number> = []
    for (const { bytes, id } of writes) {
      if (bytes === 0) continue
      const sum = (written.get(id) ?? 0) + bytes
      if (sum < maxBytes * measureShare) {
        written.set(id, sum)
        continue
      }
      written.delete(id)
      due.push(id)
    }
    return due
  }

  return { count, trim: (id: number) => run(retryConflicts(sql.withTransaction(trim(sql, id, maxBytes)))) }
})

const trim = Effect.fnUntraced(function*(sql: SqlClient.SqlClient, id: number, maxBytes: number) {
  yield* sql.unsafe(`select 1 from resource_state where resource_id = $1::int8 for no key update`, [BigInt(id)])
  const [stored] = yield* sql.unsafe<{ bytes: number }>(
    `select coalesce(max(total), 0)::float8 as bytes from (${ranked}) r`,
    [BigInt(id)]
  )
  if (stored === undefined || stored.bytes <= maxBytes) return
  yield* sql.unsafe(
    `update deliveries set state = 1, last_code = coalesce(last_code, 0), last_error = $3
    where state = 0 and notification_id in (select id from (${ranked}) r where kind = 'n' and total > $2::float8)`,
    [BigInt(id), 2 * maxBytes, droppedMessage]
  )
  const bounds = [BigInt(id), maxBytes * keptShare]
  yield* sql.unsafe(
    `delete from notifications n using (${ranked}) r
    where r.kind = 'n' and n.id = r.id and r.total > $2::float8 and not ${isWaiting("n.id")}`,
    bounds
  )
  yield* sql.unsafe(
    `delete from entries e using (${ranked}) r
    where e.resource_id = $1::int8 and r.kind = 'e' and e.seq = r.id and r.total > $2::float8
      and not exists (select from notifications n where n.resource_id = e.resource_id and e.seq = any(n.entry_seqs))`,
    bounds
  )
})
