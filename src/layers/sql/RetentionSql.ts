import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Retention } from "#domain/ports/Retention.ts"
import { column, instant } from "./Values.ts"
import { run } from "./Query.ts"

/** Resources that are looked at in one step. */
const resources = 200

/** Entries that are deleted in one step, at most: their resources are not polled meanwhile. */
const batch = 2_000

interface Looked {
  readonly id: number
  readonly over: boolean
}

export const layer = Layer.effect(
  Retention,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient

    const deliveries = Effect.fn("Retention.deliveries")(function*(partition: number, before: number, limit: number) {
      const rows = yield* run(sql.unsafe(
        `delete from deliveries where id = any(array(
          select id from deliveries where state = 1 and due_at < ${instant("$2::float8")} and partition = $1::int2
          order by due_at limit $3::int4 for update skip locked
        )) returning 1`,
        [partition, before, limit]
      ))
      return rows.length
    })

    const look = (partition: number, keep: number, after: number) =>
      sql.unsafe<Looked>(
        `select r.id::float8 as id, ${newestOld("t")} is not null as over from (
          select id from resources where partition = $1::int2 and id > $3::int8 order by id limit ${resources}
        ) r join resource_state t on t.resource_id = r.id order by r.id`,
        [partition, keep, BigInt(after)]
      )

    /**
     * `record` locks these rows too: what it announces from now on is not deleted, and what it has announced is seen. Who is at work is
     * left alone until the next time.
     */
    const locked = Effect.fnUntraced(function*(ids: ReadonlyArray<number>) {
      const rows = yield* sql.unsafe<{ id: number }>(
        `select resource_id::float8 as id from resource_state where resource_id = any($1::int8[])
        order by resource_id for no key update skip locked`,
        [column.ids(ids)]
      )
      return rows.map(({ id }) => id)
    })

    const trim = (over: ReadonlyArray<number>, keep: number) =>
      sql.withTransaction(Effect.gen(function*() {
        const ids = yield* locked(over)
        if (ids.length === 0) return 0
        const rows = yield* sql.unsafe(
          `delete from entries where (resource_id, seq) in (
            select e.resource_id, e.seq from resource_state t join entries e on e.resource_id = t.resource_id and e.seq <= ${
            newestOld("t")
          }
            where t.resource_id = any($1::int8[])
              and not exists (select from notifications n where n.resource_id = e.resource_id and e.seq = any(n.seqs))
            limit ${batch}
          ) returning 1`,
          [column.ids(ids), keep]
        )
        return rows.length
      }))

    const entries = Effect.fn("Retention.entries")(function*(partition: number, keep: number, after: number) {
      return yield* run(Effect.gen(function*() {
        const looked = yield* look(partition, keep, after)
        const over = looked.filter((one) => one.over).map(({ id }) => id)
        const deleted = over.length === 0 ? 0 : yield* trim(over, keep)
        if (deleted === batch) return { deleted, next: after }
        return { deleted, next: looked.length === resources ? looked.at(-1)?.id : undefined }
      }))
    })

    const hubs = Effect.fn("Retention.hubs")(function*(before: number, limit: number) {
      const rows = yield* run(sql.unsafe(
        `delete from hubs where hub = any(array(
          select h.hub from hubs h where h.counted_at < ${instant("$1::float8")}
            and not exists (select from upstreams u where u.hub = h.hub)
          order by h.counted_at limit $2::int4 for update skip locked
        )) returning 1`,
        [before, limit]
      ))
      return rows.length
    })

    return Retention.of({ deliveries, entries, hubs })
  })
)

/**
 * The newest entry of the resource of state `t` that is not among the kept ones; null when all are. `$2` of them are kept, or as many ids as
 * it remembers if that is more: each takes 8 bytes at least.
 */
const newestOld = (t: string) =>
  `(select o.seq from entries o where o.resource_id = ${t}.resource_id
    order by o.seq desc offset greatest($2::int4, octet_length(${t}.seen) / 8) limit 1)`
