import { Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import { maxReadBytes, NotificationLog, type NumberedNotification } from "#domain/ports/NotificationLog.ts"
import { batched } from "./Batched.ts"
import { sqlWithGenericPlans } from "./GenericPlans.ts"
import { notificationOf, type NotificationRow, notificationSelect } from "./NotificationRows.ts"
import { run } from "./Query.ts"
import { column } from "./Values.ts"

export const layer = Layer.effect(
  NotificationLog,
  Effect.gen(function*() {
    const sql = yield* sqlWithGenericPlans
    const readAfter = makeReadAfter(sql)
    return NotificationLog.of({
      heads: selectHeads(sql),
      readAfter: (resourceId, sequence, limit) => readAfter({ resourceId, sequence, limit })
    })
  })
)

const selectHeads = (sql: SqlClient.SqlClient) =>
  Effect.fn("NotificationLog.heads")(function*(resourceIds: ReadonlyArray<number>) {
    const rows = yield* run(sql.unsafe<{ id: number; sequence: number }>(
      `select resource_id::float8 as id, sequence::float8 as sequence from resource_state where resource_id = any($1::int8[])`,
      [column.ids(resourceIds)]
    ))
    const byId = new Map(rows.map(({ id, sequence }) => [id, sequence]))
    return resourceIds.map((id) => byId.get(id) ?? 0)
  })

interface LogRequest {
  readonly resourceId: number
  readonly sequence: number
  readonly limit: number
}

interface NumberedRow extends NotificationRow {
  readonly sequence: number
  /** Position of its request in the batch, from 1. */
  readonly position: number
  /** Bytes of the notifications of its request up to this one. */
  readonly total: number
}

/** Equal requests of a batch are read once: many listeners of one resource have the same cursor. */
const makeReadAfter = (sql: SqlClient.SqlClient) =>
  batched<LogRequest, ReadonlyArray<NumberedNotification>>({
    maxInputs: 64, // each may read `maxReadBytes`
    run: Effect.fnUntraced(function*(requests) {
      const distinct = [...new Map(requests.map((request) => [keyOfRequest(request), request])).values()]
      const rows = yield* run(sql.unsafe<NumberedRow>(
        `select wanted.position::int4 as position, n.sequence::float8 as sequence, n.total::float8 as total, ${notificationSelect}
        from unnest($1::int8[], $2::int8[], $3::int4[]) with ordinality wanted(id, after, count, position) cross join lateral (
          select m.*, sum(m.bytes) over (order by m.sequence) as total from (
            select n.*, coalesce(octet_length(n.document), 0) + coalesce((
              select sum(octet_length(e.body)) from entries e
              where e.resource_id = n.resource_id and e.seq = any(n.entry_seqs)
            ), 0) as bytes
            from notifications n where n.resource_id = wanted.id and n.sequence > wanted.after
            order by n.sequence limit wanted.count
          ) m
        ) n where n.total - n.bytes < ${maxReadBytes} order by wanted.position, n.sequence`,
        [
          column.ids(distinct.map(({ resourceId }) => resourceId)),
          column.ids(distinct.map(({ sequence }) => sequence)),
          column.integers(distinct.map(({ limit }) => limit))
        ]
      ))
      const read = new Map(
        distinct.map((request): [string, Array<NumberedNotification>] => [keyOfRequest(request), []])
      )
      for (const row of rows) {
        const request = distinct[row.position - 1]
        if (request === undefined) continue
        read.get(keyOfRequest(request))?.push({
          sequence: row.sequence,
          notification: notificationOf(row),
          ...(row.total >= maxReadBytes && { isCut: true })
        })
      }
      return requests.map((request) => read.get(keyOfRequest(request)) ?? [])
    })
  })

const keyOfRequest = ({ limit, resourceId, sequence }: LogRequest): string => `${resourceId} ${sequence} ${limit}`
