import { Clock, Effect, Layer, Option, Result } from "effect"
import { SqlClient } from "effect/sql"
import { HubSubscriptionStore } from "#domain/ports/HubSubscriptionStore.ts"
import type { HubCounts, HubReport, HubSubscription } from "#domain/websub/HubSubscription.ts"
import { isLive } from "./Conditions.ts"
import { retryConflicts, run } from "./Query.ts"
import { type Box, SecretBox } from "./SecretBox.ts"
import { decodeStrings } from "./StoredJson.ts"
import { column, instant, legalText, millis } from "./Values.ts"

export const layer = Layer.effect(
  HubSubscriptionStore,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const box = yield* SecretBox
    return HubSubscriptionStore.of({
      find: find(sql, box),
      byCallback: findByCallback(sql, box),
      ofPartition: selectPartition(sql, box),
      save: save(sql, box),
      remove: remove(sql),
      addCounts: addCounts(sql),
      unreliableHubs: selectUnreliable(sql),
      hubs: Effect.fn("HubSubscriptionStore.hubs")((limit) => run(sql.unsafe<HubReport>(reportSql, [limit])))
    })
  })
)

/** Stored numbers: append only. */
export const hubStates: ReadonlyArray<HubSubscription["state"]> = ["idle", "requested", "active", "unsubscribing"]

interface HubSubscriptionRow {
  readonly resource: number
  readonly partition: number
  readonly hubs: string
  readonly hub: string
  readonly topic: string
  readonly state: number
  readonly callback: string | null
  readonly secret: Uint8Array | null
  readonly lease: number | null
  readonly due: number | null
  readonly failures: number
  readonly reliable: boolean
  readonly problem: string | null
  readonly revision: number
}

const hubSubscriptionSelect =
  `h.resource_id::float8 as resource, h.partition, h.hubs, h.hub, h.topic, h.state, h.callback, h.secret,
    ${millis("h.lease_until")} as lease, ${millis("h.due_at")} as due, h.failures, h.reliable, h.problem, h.revision`

const find = (sql: SqlClient.SqlClient, box: Box) =>
  Effect.fn("HubSubscriptionStore.find")(function*(resourceId: number) {
    const now = yield* Clock.currentTimeMillis
    const rows = yield* run(sql.unsafe<HubSubscriptionRow & { readonly watched: boolean }>(
      `select ${hubSubscriptionSelect}, exists (select from subscriptions u where u.resource_id = h.resource_id
        and ${isLive("u")}) as watched from hub_subscriptions h where h.resource_id = $2::int8`,
      [now, BigInt(resourceId)]
    ))
    return Option.map(
      Option.fromNullishOr(rows[0]),
      (row) => ({ subscription: hubSubscriptionOf(box)(row), watched: row.watched })
    )
  })

const findByCallback = (sql: SqlClient.SqlClient, box: Box) =>
  Effect.fn("HubSubscriptionStore.byCallback")(function*(callback: string) {
    const rows = yield* run(sql.unsafe<HubSubscriptionRow>(
      `select ${hubSubscriptionSelect} from hub_subscriptions h where h.callback = $1`,
      [callback]
    ))
    return Option.map(Option.fromNullishOr(rows[0]), hubSubscriptionOf(box))
  })

const selectPartition = (sql: SqlClient.SqlClient, box: Box) =>
  Effect.fn("HubSubscriptionStore.ofPartition")(function*(partition: number) {
    const rows = yield* run(sql.unsafe<HubSubscriptionRow>(
      `select ${hubSubscriptionSelect} from hub_subscriptions h where h.partition = $1::int2 order by h.resource_id`,
      [partition]
    ))
    return rows.map(hubSubscriptionOf(box))
  })

const save = (sql: SqlClient.SqlClient, box: Box) =>
  Effect.fn("HubSubscriptionStore.save")(function*(subscription: HubSubscription) {
    const statement = subscription.revision === 0 ? insertSql : updateSql
    const rows = yield* run(sql.unsafe(statement, parametersOf(box, subscription)))
    return rows.length > 0
  })

const insertSql = `
  insert into hub_subscriptions (resource_id, partition, hubs, hub, topic, state, callback, secret, lease_until, due_at,
    failures, reliable, problem, revision)
  values ($1::int8, $2::int2, $3, $4, $5, $6::int2, $7::text, $8::bytea, ${instant("$9::float8")},
  ${instant("$10::float8")}, $11::int4, $12::bool, $13::text, $14::int4 + 1)
  on conflict (resource_id) do nothing returning 1`

const updateSql = `
  update hub_subscriptions set partition = $2::int2, hubs = $3, hub = $4, topic = $5, state = $6::int2, callback = $7::text,
    secret = $8::bytea, lease_until = ${instant("$9::float8")}, due_at = ${
  instant("$10::float8")
}, failures = $11::int4,
    reliable = $12::bool, problem = $13::text, revision = revision + 1
  where resource_id = $1::int8 and revision = $14::int4 returning 1`

const parametersOf = (box: Box, subscription: HubSubscription) => [
  BigInt(subscription.resourceId),
  subscription.partition,
  JSON.stringify(subscription.hubs),
  subscription.hub,
  subscription.topic,
  hubStates.indexOf(subscription.state),
  subscription.callback ?? null,
  subscription.secret === undefined ? null : box.seal(subscription.secret, hubSecretPurpose(subscription.resourceId)),
  subscription.leaseUntil ?? null,
  subscription.dueAt ?? null,
  subscription.failures,
  subscription.reliable,
  subscription.problem === undefined ? null : legalText(subscription.problem),
  subscription.revision
]

export const hubSecretPurpose = (resourceId: number): string => JSON.stringify(["hub_subscriptions.secret", resourceId])

/**
 * A subscription whose secret cannot be decrypted counts as idle and due, because its pushes cannot be verified. The next step subscribes
 * with a new secret.
 */
const hubSubscriptionOf = (box: Box) => (row: HubSubscriptionRow): HubSubscription => {
  const subscription = withoutSecret(row)
  if (row.secret === null) return subscription
  return Result.match(box.open(row.secret, hubSecretPurpose(row.resource)), {
    onSuccess: (secret) => ({ ...subscription, secret }),
    onFailure: () => {
      const { callback: _, dueAt: __, leaseUntil: ___, ...kept } = subscription
      return { ...kept, state: "idle", reliable: false }
    }
  })
}

const withoutSecret = (row: HubSubscriptionRow): HubSubscription => ({
  resourceId: row.resource,
  partition: row.partition,
  hubs: decodeStrings(row.hubs),
  hub: row.hub,
  topic: row.topic,
  state: hubStates[row.state] ?? "idle",
  ...(row.callback === null ? {} : { callback: row.callback }),
  ...(row.lease === null ? {} : { leaseUntil: row.lease }),
  ...(row.due === null ? {} : { dueAt: row.due }),
  failures: row.failures,
  reliable: row.reliable,
  ...(row.problem === null ? {} : { problem: row.problem }),
  revision: row.revision
})

const remove = (sql: SqlClient.SqlClient) =>
  Effect.fn("HubSubscriptionStore.remove")(function*({ resourceId, revision }: HubSubscription) {
    yield* run(sql.unsafe(`delete from hub_subscriptions where resource_id = $1::int8 and revision = $2::int4`, [
      BigInt(resourceId),
      revision
    ]))
  })

/** Sorts the hubs, so that two runners cannot deadlock. */
const addCounts = (sql: SqlClient.SqlClient) =>
  Effect.fn("HubSubscriptionStore.addCounts")(function*(counts: ReadonlyArray<HubCounts>) {
    const now = yield* Clock.currentTimeMillis
    const sorted = counts.toSorted((a, b) => a.hub < b.hub ? -1 : 1)
    yield* run(retryConflicts(sql.unsafe(addCountsSql, [
      column.texts(sorted.map(({ hub }) => hub)),
      column.numbers(sorted.map(({ pushed }) => pushed)),
      column.numbers(sorted.map(({ missed }) => missed)),
      column.integers(sorted.map(({ consecutiveMisses }) => consecutiveMisses)),
      now
    ])))
  })

/** The insert locks an existing row, so that concurrent counts add up. */
const addCountsSql = `
  insert into hubs as h (hub, pushed_documents, missed_entries, consecutive_misses, counted_at)
  select c.hub, c.pushed, c.missed, case when c.pushed > 0 then 0 else c.misses end, ${instant("$5::float8")}
  from unnest($1::text[], $2::float8[], $3::float8[], $4::int4[]) c(hub, pushed, missed, misses)
  on conflict (hub) do update set pushed_documents = h.pushed_documents + excluded.pushed_documents,
    missed_entries = h.missed_entries + excluded.missed_entries, counted_at = excluded.counted_at,
    consecutive_misses = case when excluded.pushed_documents > 0 then 0 else h.consecutive_misses + excluded.consecutive_misses end`

const selectUnreliable = (sql: SqlClient.SqlClient) =>
  Effect.fn("HubSubscriptionStore.unreliableHubs")(function*(minMisses: number) {
    const rows = yield* run(
      sql.unsafe<{ hub: string }>(`select hub from hubs where consecutive_misses >= $1::int4 order by hub`, [minMisses])
    )
    return rows.map(({ hub }) => hub)
  })

/** A hub without counts has subscriptions, and a hub without subscriptions has counts: hence the full join. */
const reportSql = `
  select hub, coalesce(s.subscriptions, 0)::float8 as subscriptions, coalesce(s.reliable, 0)::float8 as reliable,
    coalesce(h.pushed_documents, 0)::float8 as pushed, coalesce(h.missed_entries, 0)::float8 as missed,
    coalesce(h.consecutive_misses, 0) as "consecutiveMisses"
  from hubs h full join (
    select hub, count(*) filter (where state = ${hubStates.indexOf("active")}) as subscriptions,
      count(*) filter (where reliable) as reliable
    from hub_subscriptions group by hub
  ) s using (hub)
  order by coalesce(s.subscriptions, 0) desc, hub collate "C" limit $1::int4`
