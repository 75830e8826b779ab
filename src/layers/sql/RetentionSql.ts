import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Retention } from "#domain/ports/Retention.ts"
import { startPruning } from "./Pruning.ts"
import { column, instant } from "./Values.ts"
import { run } from "./Query.ts"

/** Resources that one step reads. */
const maxResources = 200

/** Entries that one step deletes. Polls of their resources wait for it. */
const maxEntries = 2_000

export const layer = Layer.effect(
  Retention,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    yield* startPruning(sql)
    return Retention.of({
      pruneDeliveries: pruneDeliveries(sql),
      pruneEntries: pruneEntries(sql),
      pruneHubs: pruneHubs(sql)
    })
  })
)

const pruneDeliveries = (sql: SqlClient.SqlClient) =>
  Effect.fn("Retention.deliveries")(function*(partition: number, before: number, limit: number) {
    const rows = yield* run(sql.unsafe(
      `delete from deliveries where id = any(array(
        select id from deliveries where state = 1 and due_at < ${instant("$2::float8")} and partition = $1::int2
        order by due_at limit $3::int4 for update skip locked
      )) returning 1`,
      [partition, before, limit]
    ))
    return rows.length
  })

const pruneEntries = (sql: SqlClient.SqlClient) =>
  Effect.fn("Retention.entries")(function*(partition: number, keep: number, after: number) {
    return yield* run(Effect.gen(function*() {
      const resources = yield* selectOversized(sql, partition, keep, after)
      const oversized = resources.filter(({ isOversized }) => isOversized).map(({ id }) => id)
      const deleted = oversized.length === 0 ? 0 : yield* deleteOldEntries(sql, oversized, keep)
      if (deleted === maxEntries) return { deleted, next: after }
      return { deleted, next: resources.length === maxResources ? resources.at(-1)?.id : undefined }
    }))
  })

const selectOversized = (sql: SqlClient.SqlClient, partition: number, keep: number, after: number) =>
  sql.unsafe<{ id: number; isOversized: boolean }>(
    `select r.id::float8 as id, ${newestOldEntry("t")} is not null as "isOversized" from (
      select id from resources where partition = $1::int2 and id > $3::int8 order by id limit ${maxResources}
    ) r join resource_state t on t.resource_id = r.id order by r.id`,
    [partition, keep, BigInt(after)]
  )

/**
 * Locks the rows that `record` locks, and skips rows that it holds.
 * So an entry of a stored notification is seen, and no entry is announced while it is deleted.
 */
const lockStates = Effect.fnUntraced(function*(sql: SqlClient.SqlClient, ids: ReadonlyArray<number>) {
  const rows = yield* sql.unsafe<{ id: number }>(
    `select resource_id::float8 as id from resource_state where resource_id = any($1::int8[])
    order by resource_id for no key update skip locked`,
    [column.ids(ids)]
  )
  return rows.map(({ id }) => id)
})

const deleteOldEntries = (sql: SqlClient.SqlClient, resources: ReadonlyArray<number>, keep: number) =>
  sql.withTransaction(Effect.gen(function*() {
    const ids = yield* lockStates(sql, resources)
    if (ids.length === 0) return 0
    const rows = yield* sql.unsafe(
      `delete from entries where (resource_id, seq) in (
        select e.resource_id, e.seq from resource_state t join entries e on e.resource_id = t.resource_id and e.seq <= ${
        newestOldEntry("t")
      }
        where t.resource_id = any($1::int8[])
          and not exists (select from notifications n where n.resource_id = e.resource_id and e.seq = any(n.entry_seqs))
        limit ${maxEntries}
      ) returning 1`,
      [column.ids(ids), keep]
    )
    return rows.length
  }))

/**
 * The newest entry that is not kept, of the resource of state `t`; null when all are kept.
 * Kept are `$2` entries, or as many as the resource remembers ids if these are more. An id takes 8 bytes or more.
 */
const newestOldEntry = (t: string) =>
  `(select o.seq from entries o where o.resource_id = ${t}.resource_id
    order by o.seq desc offset greatest($2::int4, octet_length(${t}.seen) / 8) limit 1)`

const pruneHubs = (sql: SqlClient.SqlClient) =>
  Effect.fn("Retention.hubs")(function*(before: number, limit: number) {
    const rows = yield* run(sql.unsafe(
      `delete from hubs where hub = any(array(
        select h.hub from hubs h where h.counted_at < ${instant("$1::float8")}
          and not exists (select from hub_subscriptions u where u.hub = h.hub)
        order by h.counted_at limit $2::int4 for update skip locked
      )) returning 1`,
      [before, limit]
    ))
    return rows.length
  })
