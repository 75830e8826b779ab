import { Clock, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { hashString } from "#domain/Fingerprint.ts"
import {
  type ReplayContent,
  type ReplayLimits,
  type ReplayOutcome,
  type ReplayProgress,
  Replays
} from "#domain/ports/Replays.ts"
import { column, instant, legalText } from "./Values.ts"
import { retryConflicts, run } from "./Query.ts"
import { continueRun } from "./SequenceRunColumns.ts"

/**
 * Queues one replay in one transaction. The subscription is locked before its account, as in `RecordStatement`.
 *
 * Streams read the notifications of a resource from number 1. The number of a replay is the negative of an unused id, so that no stream reads it.
 */
const queueSql = `
with s as (
  update subscriptions u set next_sequence = u.next_sequence + 1, ${continueRun("null::int8")} where id = $2::int8
  returning id, account_id, resource_id, next_sequence - 1 as sequence
),
a as (
  update accounts o set credits = o.credits - 1 from s where o.id = s.account_id returning o.id, o.credits
),
l as (
  insert into credit_ledger (account_id, kind, bucket, delta)
  select id, 0, date_trunc('hour', ${instant("$1::float8")}, 'UTC'), -1 from a
  on conflict (account_id, bucket, kind) do update set delta = credit_ledger.delta + excluded.delta
),
n as (
  insert into notifications (resource_id, sequence, kind, status, header, entry_seqs, content_type, document, created_at)
  select s.resource_id, -nextval(pg_get_serial_sequence('notifications', 'id')), $3::int2, $4::text, $5::text,
    (select array_agg(e.seq order by i.position) from unnest($6::int8[]) with ordinality i(hash, position)
      join entries e on e.resource_id = s.resource_id and e.hash = i.hash),
    $7::text, $8::bytea, ${instant("$1::float8")}
  from s returning id
),
d as (
  insert into deliveries (notification_id, subscription_id, sequence, partition, credits, due_at, created_at)
  select n.id, s.id, s.sequence, r.partition, a.credits, ${instant("$1::float8")}, ${instant("$1::float8")}
  from n, a, s join resources r on r.id = s.resource_id
  returning id, notification_id
),
p as (
  insert into replays (delivery_id, notification_id, account_id, bytes, created_at)
  select d.id, d.notification_id, s.account_id, coalesce(octet_length($8::bytea), 0), ${instant("$1::float8")} from d, s
)
select id::float8 as id from d`

export const layer = Layer.effect(
  Replays,
  SqlClient.SqlClient.useSync((sql) => Replays.of({ enqueue: enqueue(sql), progress: readProgress(sql) }))
)

const enqueue = (sql: SqlClient.SqlClient) =>
  Effect.fn("Replays.enqueue")((subscriptionId: number, replay: ReplayContent, bounds: ReplayLimits) =>
    run(retryConflicts(sql.withTransaction(insertBounded(sql, subscriptionId, replay, bounds))))
  )

/** The advisory lock queues the replays of an account one by one, so that the counts behind the lock are complete. */
const insertBounded = Effect.fnUntraced(
  function*(sql: SqlClient.SqlClient, subscriptionId: number, replay: ReplayContent, bounds: ReplayLimits) {
    const [locked] = yield* sql.unsafe<{ account: number }>(
      `select account_id as account, pg_advisory_xact_lock(hashtextextended('windhover: replays', account_id))::text
      from subscriptions where id = $1::int8`,
      [BigInt(subscriptionId)]
    )
    if (locked === undefined) return subscriptionGone
    const waiting = yield* sql.unsafe(
      `select from deliveries where subscription_id = $1::int8 and state = 0 limit $2::int4`,
      [BigInt(subscriptionId), bounds.count]
    )
    if (waiting.length >= bounds.count) return { _tag: "TooMany" } satisfies ReplayOutcome
    const size = documentOfReplay(replay)?.body.length ?? 0
    const bytes = size === 0 ? 0 : yield* countBytes(sql, locked.account)
    return size > 0 && bytes + size > bounds.bytes
      ? { _tag: "Full", bytes } satisfies ReplayOutcome
      : yield* insert(sql, subscriptionId, replay)
  }
)

/** Bytes of the documents of the account's queued replays. */
const countBytes = Effect.fnUntraced(function*(sql: SqlClient.SqlClient, accountId: number) {
  const [row] = yield* sql.unsafe<{ bytes: number }>(
    `select coalesce(sum(r.bytes), 0)::float8 as bytes from replays r join deliveries d on d.id = r.delivery_id
    where r.account_id = $1::int4`,
    [accountId]
  )
  return row?.bytes ?? 0
})

const insert = Effect.fnUntraced(function*(sql: SqlClient.SqlClient, subscriptionId: number, replay: ReplayContent) {
  const { header, news, status } = replay
  const document = documentOfReplay(replay)
  const ids = news._tag === "Entries" ? news.ids : []
  const [row] = yield* sql.unsafe<{ id: number }>(queueSql, [
    yield* Clock.currentTimeMillis,
    BigInt(subscriptionId),
    news._tag === "Entries" ? 0 : 1,
    JSON.stringify(status),
    header === undefined ? null : JSON.stringify(header),
    column.hashes(ids.map(hashString)),
    document === undefined ? null : legalText(document.contentType),
    document === undefined ? null : document.body
  ])
  return row === undefined ? subscriptionGone : { _tag: "Queued", id: row.id } satisfies ReplayOutcome
})

const readProgress = (sql: SqlClient.SqlClient) =>
  Effect.fn("Replays.progress")(function*(deliveryId: number) {
    const [row] = yield* run(sql.unsafe<{ code: number | null; error: string | null }>(
      `select last_code as code, last_error as error from deliveries where id = $1::int8`,
      [BigInt(deliveryId)]
    ))
    if (row === undefined) return { _tag: "Gone" } satisfies ReplayProgress
    const failed = row.code === null ? undefined : { code: row.code, message: row.error ?? "" }
    return { _tag: "Waiting", failed } satisfies ReplayProgress
  })

const subscriptionGone: ReplayOutcome = { _tag: "Gone" }

const documentOfReplay = ({ news }: ReplayContent) => news._tag === "Document" ? news.document : undefined
