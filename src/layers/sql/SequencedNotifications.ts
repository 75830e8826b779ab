import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { countFitting } from "#domain/delivery/Delivery.ts"
import { rangesOf, type SequenceRun } from "#domain/delivery/SequenceRuns.ts"
import type { SequencedNotification, SequencedPage } from "#domain/ports/Redelivery.ts"
import { selectNotifications, selectParts } from "./OutboxBacklog.ts"
import { run } from "./Query.ts"
import { type SequenceRunRow, sequenceRunSelect, sequenceRunsOf } from "./SequenceRunColumns.ts"
import { column } from "./Values.ts"

/** The numbering of a subscription. */
export interface Numbering {
  readonly resourceId: number
  readonly nextSequence: number
  readonly runs: ReadonlyArray<SequenceRun>
}

/** A stored notification of a subscription, without its content. */
export interface StoredSequence {
  readonly sequence: number
  readonly notification: number
  /** Row of the outbox; null for a delivered notification. */
  readonly delivery: number | null
  readonly part: boolean
}

interface SizedSequence extends StoredSequence {
  readonly bytes: number
}

/** Reads the numbering; undefined for a removed subscription. `lock` is a locking clause. */
export const selectNumbering = (sql: SqlClient.SqlClient, subscriptionId: number, lock = "") =>
  Effect.map(
    sql.unsafe<SequenceRunRow & { readonly resource: number; readonly next: number }>(
      `select u.resource_id::float8 as resource, u.next_sequence::float8 as next, ${sequenceRunSelect}
      from subscriptions u where u.id = $1::int8 ${lock}`,
      [BigInt(subscriptionId)]
    ),
    ([row]): Numbering | undefined =>
      row && { resourceId: row.resource, nextSequence: row.next, runs: sequenceRunsOf(row) }
  )

/** Bytes of the stored content of a notification. Compressed values tell their length without decompression. */
const bytesOf = (n: string): string =>
  `coalesce(octet_length(${n}.document), 0) + coalesce((
    select sum(octet_length(e.body)) from entries e where e.resource_id = ${n}.resource_id and e.seq = any(${n}.entry_seqs)
  ), 0)::float8`

/** Sequences of one window, both inclusive. */
interface SequenceWindow {
  readonly first: number
  readonly last: number
}

/**
 * Finds stored notifications of `$1` with sequences of the windows from `$2` to `$3`, at most `$4`.
 *
 * Waiting and dropped ones, and delivered parts, have rows in the outbox. The others follow from the numbers of the resource `$5` in the
 * ranges `$6` to `$7` with their offsets `$8`. A row of the outbox wins.
 */
const selectSequencesSql = `
  select distinct on (sequence) sequence::float8 as sequence, notification_id::float8 as notification, delivery::float8 as delivery,
    part, bytes
  from (
    ${
  [0, 1, 2].map((state) =>
    `select d.sequence, d.notification_id, d.id as delivery, d.entry_seqs is not null as part, ${bytesOf("n")} as bytes
    from unnest($2::int8[], $3::int8[]) w(first, last) cross join lateral (
      select * from deliveries d where d.subscription_id = $1::int8 and d.state = ${state} and d.sequence between w.first and w.last
      order by d.sequence limit $4::int4
    ) d join notifications n on n.id = d.notification_id`
  ).join(" union all ")
}
    union all
    select n.sequence + r.shift, n.id, null, false, ${bytesOf("n")}
    from unnest($6::int8[], $7::int8[], $8::float8[]::int8[]) r(first, last, shift) cross join lateral (
      select * from notifications n where n.resource_id = $5::int8 and n.sequence between r.first and r.last
      order by n.sequence limit $4::int4
    ) n
  ) found
  order by sequence, delivery nulls last limit $4::int4`

export const selectSequences = (
  sql: SqlClient.SqlClient,
  subscriptionId: number,
  { resourceId, runs }: Numbering,
  windows: ReadonlyArray<SequenceWindow>,
  limit: number
) => {
  const ranges = windows.flatMap(({ first, last }) => rangesOf(runs, first, last))
  return sql.unsafe<SizedSequence>(selectSequencesSql, [
    BigInt(subscriptionId),
    column.ids(windows.map(({ first }) => first)),
    column.ids(windows.map(({ last }) => last)),
    limit,
    BigInt(resourceId),
    column.ids(ranges.map(({ from }) => from)),
    column.ids(ranges.map(({ to }) => to)),
    column.numbers(ranges.map(({ offset }) => offset))
  ])
}

/** Reads a page of `Redelivery.readAfter`. */
export const readAfter = (sql: SqlClient.SqlClient) =>
  Effect.fn("Redelivery.readAfter")(function*(
    subscriptionId: number,
    after: number,
    { bytes, count }: { readonly count: number; readonly bytes: number }
  ) {
    const numbering = yield* run(selectNumbering(sql, subscriptionId))
    if (numbering === undefined) return { items: [], lastSequence: 0 }
    const lastSequence = numbering.nextSequence - 1
    const rows = yield* run(
      selectSequences(sql, subscriptionId, numbering, [{ first: after + 1, last: lastSequence }], count + 1)
    )
    const first = rows.slice(0, countFitting(rows.map((row) => row.bytes), { bytes, count }))
    const items = yield* readContents(sql, first)
    const next = rows.length > first.length ? first.at(-1)?.sequence : undefined
    return { items, lastSequence, ...(next !== undefined && { next }) } satisfies SequencedPage
  })

const readContents = Effect.fnUntraced(function*(sql: SqlClient.SqlClient, rows: ReadonlyArray<StoredSequence>) {
  if (rows.length === 0) return []
  const notifications = yield* selectNotifications(sql, [...new Set(rows.map(({ notification }) => notification))])
  const parts = yield* selectParts(
    sql,
    rows.flatMap(({ delivery, part }) => part && delivery !== null ? [{ id: delivery }] : [])
  )
  return rows.flatMap(({ delivery, notification: id, part, sequence }): ReadonlyArray<SequencedNotification> => {
    const notification = notifications.get(id)
    if (notification === undefined) return []
    const entries = part ? parts.get(delivery ?? 0) ?? [] : undefined
    return [{
      sequence,
      isPart: part,
      notification: entries === undefined ? notification : { ...notification, news: { _tag: "Entries", entries } }
    }]
  })
})
