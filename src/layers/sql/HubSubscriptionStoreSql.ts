import { Clock, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { HubSubscriptionStore } from "#domain/ports/HubSubscriptionStore.ts"
import type { HubCounts, HubReport, HubSubscription } from "#domain/websub/HubSubscription.ts"
import { told } from "./ResourceRows.ts"
import { column, instant, legalText, millis } from "./Values.ts"
import { retryConflicts, run } from "./Query.ts"

/** Stored numbers: append only. */
const states: ReadonlyArray<HubSubscription["state"]> = ["idle", "asked", "active", "leaving"]

interface UpstreamRow {
  readonly resource: number
  readonly partition: number
  readonly hubs: string
  readonly hub: string
  readonly topic: string
  readonly state: number
  readonly callback: string | null
  readonly secret: string | null
  readonly lease: number | null
  readonly due: number | null
  readonly failures: number
  readonly trusted: boolean
  readonly problem: string | null
  readonly revision: number
}

const columns =
  `p.resource_id::float8 as resource, p.partition, p.hubs, p.hub, p.topic, p.state, p.callback, p.secret, ${
    millis("p.lease_until")
  } as lease, ${millis("p.due_at")} as due, p.failures, p.trusted, p.problem, p.revision`

export const layer = Layer.effect(
  HubSubscriptionStore,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient

    const find = Effect.fn("HubSubscriptionStore.find")(function*(resourceId: number) {
      const now = yield* Clock.currentTimeMillis
      const rows = yield* run(sql.unsafe<UpstreamRow & { readonly watched: boolean }>(
        `select ${columns}, exists (select from subscriptions u where u.resource_id = p.resource_id and ${
          told("u")
        }) as watched from hub_subscriptions p where p.resource_id = $2::int8`,
        [now, BigInt(resourceId)]
      ))
      return Option.map(
        Option.fromNullishOr(rows[0]),
        (row) => ({ subscription: upstreamOf(row), watched: row.watched })
      )
    })

    const byCallback = Effect.fn("HubSubscriptionStore.byCallback")(function*(callback: string) {
      const rows = yield* run(
        sql.unsafe<UpstreamRow>(`select ${columns} from hub_subscriptions p where p.callback = $1`, [callback])
      )
      return Option.map(Option.fromNullishOr(rows[0]), upstreamOf)
    })

    const ofPartition = Effect.fn("HubSubscriptionStore.ofPartition")(function*(partition: number) {
      const rows = yield* run(
        sql.unsafe<UpstreamRow>(
          `select ${columns} from hub_subscriptions p where p.partition = $1::int2 order by p.resource_id`,
          [partition]
        )
      )
      return rows.map(upstreamOf)
    })

    const save = Effect.fn("HubSubscriptionStore.save")(function*(upstream: HubSubscription) {
      const rows = yield* run(sql.unsafe(upstream.revision === 0 ? insertSql : updateSql, parametersOf(upstream)))
      return rows.length > 0
    })

    const remove = Effect.fn("HubSubscriptionStore.remove")(function*({ resourceId, revision }: HubSubscription) {
      yield* run(
        sql.unsafe(`delete from hub_subscriptions where resource_id = $1::int8 and revision = $2::int4`, [
          BigInt(resourceId),
          revision
        ])
      )
    })

    const tally = Effect.fn("HubSubscriptionStore.addCounts")(function*(tallies: ReadonlyArray<HubCounts>) {
      const now = yield* Clock.currentTimeMillis
      const sorted = tallies.toSorted((a, b) => a.hub < b.hub ? -1 : 1) // two runners do not wait for each other
      yield* run(retryConflicts(sql.unsafe(tallySql, [
        column.texts(sorted.map(({ hub }) => hub)),
        column.numbers(sorted.map(({ pushed }) => pushed)),
        column.numbers(sorted.map(({ missed }) => missed)),
        column.integers(sorted.map(({ consecutiveMisses }) => consecutiveMisses)),
        now
      ])))
    })

    const struck = Effect.fn("HubSubscriptionStore.unreliableHubs")(function*(strikes: number) {
      const rows = yield* run(
        sql.unsafe<{ hub: string }>(`select hub from hubs where failed_resources >= $1::int4 order by hub`, [strikes])
      )
      return rows.map(({ hub }) => hub)
    })

    const hubs = Effect.fn("HubSubscriptionStore.hubs")((limit: number) => run(sql.unsafe<HubReport>(hubsSql, [limit])))

    return HubSubscriptionStore.of({
      find,
      byCallback,
      ofPartition,
      save,
      remove,
      addCounts: tally,
      unreliableHubs: struck,
      hubs
    })
  })
)

const insertSql = `
  insert into hub_subscriptions (resource_id, partition, hubs, hub, topic, state, callback, secret, lease_until, due_at, failures, trusted, problem, revision)
  values ($1::int8, $2::int2, $3, $4, $5, $6::int2, $7::text, $8::text, ${instant("$9::float8")}, ${
  instant("$10::float8")
}, $11::int4, $12::bool, $13::text, $14::int4 + 1)
  on conflict (resource_id) do nothing returning 1`

const updateSql = `
  update hub_subscriptions set partition = $2::int2, hubs = $3, hub = $4, topic = $5, state = $6::int2, callback = $7::text, secret = $8::text,
    lease_until = ${instant("$9::float8")}, due_at = ${
  instant("$10::float8")
}, failures = $11::int4, trusted = $12::bool, problem = $13::text, revision = revision + 1
  where resource_id = $1::int8 and revision = $14::int4 returning 1`

/** The row is locked by the insert that meets it, so that nothing is counted twice or lost. */
const tallySql = `
  insert into hubs as h (hub, pushed_documents, missed_entries, failed_resources, counted_at)
  select t.hub, t.pushed, t.missed, case when t.pushed > 0 then 0 else t.strikes end, ${instant("$5::float8")}
  from unnest($1::text[], $2::float8[], $3::float8[], $4::int4[]) t(hub, pushed, missed, strikes)
  on conflict (hub) do update set pushed_documents = h.pushed_documents + excluded.pushed_documents,
    missed_entries = h.missed_entries + excluded.missed_entries, counted_at = excluded.counted_at,
    failed_resources = case when excluded.pushed_documents > 0 then 0 else h.failed_resources + excluded.failed_resources end`

/** A hub without counts has subscriptions, and a hub without subscriptions has counts: hence the full join. */
const hubsSql = `
  select hub, coalesce(u.subscriptions, 0)::float8 as subscriptions, coalesce(u.reliable, 0)::float8 as reliable,
    coalesce(h.pushed_documents, 0)::float8 as pushed, coalesce(h.missed_entries, 0)::float8 as missed,
    coalesce(h.failed_resources, 0) as "consecutiveMisses"
  from hubs h full join (
    select hub, count(*) filter (where state = ${
  states.indexOf("active")
}) as subscriptions, count(*) filter (where trusted) as reliable
    from hub_subscriptions group by hub
  ) u using (hub)
  order by coalesce(u.subscriptions, 0) desc, hub collate "C" limit $1::int4`

const parametersOf = (upstream: HubSubscription) => [
  BigInt(upstream.resourceId),
  upstream.partition,
  JSON.stringify(upstream.hubs),
  upstream.hub,
  upstream.topic,
  states.indexOf(upstream.state),
  upstream.callback ?? null,
  upstream.secret ?? null,
  upstream.leaseUntil ?? null,
  upstream.dueAt ?? null,
  upstream.failures,
  upstream.reliable,
  upstream.problem === undefined ? null : legalText(upstream.problem),
  upstream.revision
]

const upstreamOf = (row: UpstreamRow): HubSubscription => ({
  resourceId: row.resource,
  partition: row.partition,
  hubs: JSON.parse(row.hubs) as ReadonlyArray<string>,
  hub: row.hub,
  topic: row.topic,
  state: states[row.state] ?? "idle",
  ...(row.callback === null ? {} : { callback: row.callback }),
  ...(row.secret === null ? {} : { secret: row.secret }),
  ...(row.lease === null ? {} : { leaseUntil: row.lease }),
  ...(row.due === null ? {} : { dueAt: row.due }),
  failures: row.failures,
  reliable: row.trusted,
  ...(row.problem === null ? {} : { problem: row.problem }),
  revision: row.revision
})
