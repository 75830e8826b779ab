import { Clock, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { RunnerBoard } from "#domain/ports/RunnerBoard.ts"
import { maxSilenceMs, type RunnerReport, type SeenRunner } from "#domain/RunnerReport.ts"
import { run } from "./Query.ts"
import { instant, legalText, millis } from "./Values.ts"

export const layer = Layer.effect(
  RunnerBoard,
  SqlClient.SqlClient.useSync((sql) => RunnerBoard.of({ report: report(sql), remove: remove(sql), list: list(sql) }))
)

/** Columns of a report, in the order of `valuesOf`. */
const columns =
  `name, version, started_at, seen_at, partitions, healthy, failing, late, polls, delivered, failed_deliveries,
  cpu, event_loop, memory`

const valuesOf = ({ traffic, ...report }: RunnerReport, now: number) => [
  legalText(report.name),
  report.version,
  report.startedAt,
  now,
  report.partitions,
  report.healthy,
  report.failing,
  report.late,
  traffic?.polls ?? null,
  traffic?.delivered ?? null,
  traffic?.failedDeliveries ?? null,
  report.cpu,
  report.eventLoop,
  report.memory
]

const reportSql = `
  with old as (delete from runners where name <> $1 and seen_at < ${instant(`$4::float8 - ${maxSilenceMs}`)})
  insert into runners (${columns})
  values ($1, $2, ${instant("$3::float8")}, ${
  instant("$4::float8")
}, $5::int4, $6::int4, $7::int4, $8::int4, $9::int4, $10::int4,
    $11::int4, $12::float8, $13::float8, $14::float8)
  on conflict (name) do update set (${columns}) = row(${
  columns.split(",").map((name) => `excluded.${name.trim()}`).join(", ")
})`

const report = (sql: SqlClient.SqlClient) =>
  Effect.fn("RunnerBoard.report")(function*(one: RunnerReport) {
    yield* run(sql.unsafe(reportSql, valuesOf(one, yield* Clock.currentTimeMillis)))
  })

const remove = (sql: SqlClient.SqlClient) =>
  Effect.fn("RunnerBoard.remove")((name: string) =>
    Effect.asVoid(run(sql.unsafe(`delete from runners where name = $1`, [legalText(name)])))
  )

interface RunnerRow extends Omit<SeenRunner, "traffic"> {
  readonly polls: number | null
  readonly delivered: number
  readonly failed: number
}

const list = (sql: SqlClient.SqlClient) =>
  Effect.fn("RunnerBoard.list")(function*(limit: number) {
    const rows = yield* run(sql.unsafe<RunnerRow>(
      `select name, version, ${millis("started_at")} as "startedAt", ${
        millis("seen_at")
      } as "seenAt", partitions, healthy, failing,
        late, polls, coalesce(delivered, 0) as delivered, coalesce(failed_deliveries, 0) as failed, cpu, event_loop as "eventLoop", memory::float8 as memory
      from runners order by name collate "C" limit $1::int4`,
      [limit]
    ))
    return rows.map(({ delivered, failed, polls, ...runner }): SeenRunner => ({
      ...runner,
      ...(polls !== null && { traffic: { polls, delivered, failedDeliveries: failed } })
    }))
  })
