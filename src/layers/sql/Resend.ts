import { Clock, Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { sequenceOf } from "#domain/delivery/SequenceRuns.ts"
import type { NotificationName, Resent } from "#domain/ports/Redelivery.ts"
import { retryConflicts, run } from "./Query.ts"
import { type Numbering, selectNumbering, selectSequences, type StoredSequence } from "./SequencedNotifications.ts"
import { column, instant } from "./Values.ts"

/** Lets notifications wait again, see `Redelivery.resend`. */
export const resend = (sql: SqlClient.SqlClient) =>
  Effect.fn("Redelivery.resend")((subscriptionId: number, names: ReadonlyArray<NotificationName>) =>
    run(retryConflicts(sql.withTransaction(resendLocked(sql, subscriptionId, names))))
  )

/** The lock of the subscription orders this transaction against a split, which moves sequences. */
const resendLocked = Effect.fnUntraced(
  function*(sql: SqlClient.SqlClient, subscriptionId: number, names: ReadonlyArray<NotificationName>) {
    const numbering = yield* selectNumbering(sql, subscriptionId, "for no key update of u")
    if (numbering === undefined) return undefined
    const sequences = yield* findSequences(sql, subscriptionId, numbering, names)
    const wanted = [...new Set(sequences.flatMap((sequence) => sequence ?? []))].toSorted((a, b) => a - b)
    const windows = wanted.map((sequence) => ({ first: sequence, last: sequence }))
    const rows = yield* selectSequences(sql, subscriptionId, numbering, windows, wanted.length)
    const found = new Map(rows.map((row) => [row.sequence, row]))
    const missing = names.filter(({ notificationId }, i) => {
      const row = found.get(sequences[i] ?? 0)
      return row === undefined || (notificationId ?? row.notification) !== row.notification
    })
    const isNamed = new Set(sequences.filter((_, i) => !missing.includes(names[i] ?? {})))
    const resent = [...found.values()].filter(({ sequence }) => isNamed.has(sequence))
    const partition = yield* write(sql, subscriptionId, resent)
    return { partition, sequences: resent.map(({ sequence }) => sequence), missing } satisfies Resent
  }
)

/** The sequence of each name; undefined for an unknown one. */
const findSequences = Effect.fnUntraced(function*(
  sql: SqlClient.SqlClient,
  subscriptionId: number,
  { nextSequence, resourceId, runs }: Numbering,
  names: ReadonlyArray<NotificationName>
) {
  const ids = names.flatMap(({ notificationId, sequence }) => sequence === undefined ? notificationId ?? [] : [])
  const numbers = ids.length === 0 ? [] : yield* sql.unsafe<{ id: number; number: number }>(
    `select id::float8 as id, sequence::float8 as number from notifications where id = any($1::int8[]) and resource_id = $2::int8`,
    [column.ids(ids), BigInt(resourceId)]
  )
  // a replay has no number of its resource
  const replayed = ids.length === 0 ? [] : yield* sql.unsafe<{ id: number; sequence: number }>(
    `select d.notification_id::float8 as id, d.sequence::float8 as sequence from deliveries d
    where d.subscription_id = $2::int8 and d.state in (0, 1) and d.entry_seqs is null and d.notification_id = any($1::int8[])`,
    [column.ids(ids), BigInt(subscriptionId)]
  )
  const numberOf = new Map(numbers.map(({ id, number }) => [id, number]))
  const sequenceOfReplay = new Map(replayed.map(({ id, sequence }) => [id, sequence]))
  return names.map(({ notificationId = 0, sequence }) => {
    if (sequence !== undefined) return sequence < nextSequence ? sequence : undefined
    const number = numberOf.get(notificationId)
    return sequenceOfReplay.get(notificationId) ??
      (number === undefined ? undefined : sequenceOf(runs, number, nextSequence))
  })
})

/** Attempts and waiting begin anew. A delivered notification gets a row again, with the balance of today. */
const writeSql = `
  with wanted as (
    select * from unnest($2::int8[], $3::int8[], $4::float8[]::int8[]) w(sequence, notification_id, delivery)
  ),
  again as (
    update deliveries d set state = 0, attempt = 0, requested_wait = null, due_at = ${instant("$5::float8")},
      created_at = case d.state when 0 then d.created_at else ${
  instant("$5::float8")
} end, resent = d.resent or d.state = 2
    from wanted w where d.id = w.delivery
  ),
  new as (
    insert into deliveries (notification_id, subscription_id, sequence, partition, credits, due_at, created_at, resent)
    select w.notification_id, u.id, w.sequence, r.partition, a.credits, ${instant("$5::float8")}, ${
  instant("$5::float8")
}, true
    from wanted w, subscriptions u join resources r on r.id = u.resource_id join accounts a on a.id = u.account_id
    where u.id = $1::int8 and w.delivery is null order by w.sequence
  )
  select r.partition from subscriptions u join resources r on r.id = u.resource_id where u.id = $1::int8`

const write = Effect.fnUntraced(
  function*(sql: SqlClient.SqlClient, subscriptionId: number, rows: ReadonlyArray<StoredSequence>) {
    const [row] = yield* sql.unsafe<{ partition: number }>(writeSql, [
      BigInt(subscriptionId),
      column.ids(rows.map(({ sequence }) => sequence)),
      column.ids(rows.map(({ notification }) => notification)),
      column.numbers(rows.map(({ delivery }) => delivery)),
      yield* Clock.currentTimeMillis
    ])
    return row?.partition ?? 0
  }
)
