import { Clock, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { type HostPause, HostPauses } from "#domain/ports/HostPauses.ts"
import { partitionCount } from "#domain/Topic.ts"
import { batched } from "./Batched.ts"
import { run } from "./Query.ts"
import { column, instant, millis } from "./Values.ts"

export const layer = Layer.effect(
  HostPauses,
  SqlClient.SqlClient.useSync((sql) => HostPauses.of({ save: save(sql), ofPartition: makeReadPartition(sql) }))
)

/** Condition: the pause is over. A pause that starts in the future comes from a clock that was ahead, and counts as over. */
const isOver = `(p.paused_until <= ${instant("$5::float8")} or p.paused_since > ${instant("$5::float8")})`

/** Also deletes up to 100 pauses that are over, so that their number stays bounded. */
const saveSql = `
  with over as (
    delete from host_pauses where ctid = any(array(
      select ctid from host_pauses where paused_until <= ${instant("$5::float8")}
        and not (partition = $1::int2 and host = $2) limit 100 for update skip locked
    ))
  )
  insert into host_pauses as p (partition, host, paused_since, paused_until)
  values ($1::int2, $2, ${instant("$3::float8")}, ${instant("$4::float8")})
  on conflict (partition, host) do update set
    paused_since = case when ${isOver} then excluded.paused_since else p.paused_since end,
    paused_until = case when ${isOver} then excluded.paused_until else greatest(p.paused_until, excluded.paused_until) end`

const save = (sql: SqlClient.SqlClient) =>
  Effect.fn("HostPauses.save")(function*(partition: number, { host, since, until }: HostPause) {
    const now = yield* Clock.currentTimeMillis
    yield* run(sql.unsafe(saveSql, [partition, host, since, until, now]))
  })

/** Reads the pauses of all partitions that a runner wakes together. */
const makeReadPartition = (sql: SqlClient.SqlClient) =>
  batched({
    gatheringMs: 20,
    maxInputs: partitionCount,
    run: Effect.fnUntraced(function*(partitions: ReadonlyArray<number>) {
      const rows = yield* run(sql.unsafe<HostPause & { readonly partition: number }>(
        `select partition::int4 as partition, host, ${millis("paused_since")} as since,
          ${millis("paused_until")} as until
        from host_pauses where partition = any($1::int4[]) and paused_until > ${instant("$2::float8")}
        order by paused_until, host`,
        [column.integers(partitions), yield* Clock.currentTimeMillis]
      ))
      const byPartition = Map.groupBy(rows, ({ partition }) => partition)
      return partitions.map((partition) =>
        byPartition.get(partition)?.map(({ host, since, until }) => ({ host, since, until })) ?? []
      )
    })
  })
