import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { WriteProbe } from "#domain/ports/WriteProbe.ts"
import { run } from "./Query.ts"

/**
 * Creates and drops a table in one transaction, whose commit waits for the disk.
 *
 * A row in an existing table could fit into a page that the disk holds already. The lock makes concurrent probes wait for each other.
 */
const attemptSql = `do $$
begin
  perform pg_advisory_xact_lock(hashtextextended('windhover: write probe', 0));
  create table windhover_write_probe as select repeat('-', 1000) as filling from generate_series(1, 64);
  drop table windhover_write_probe;
end $$`

export const layer = Layer.effect(
  WriteProbe,
  SqlClient.SqlClient.useSync((sql) =>
    WriteProbe.of({
      attempt: Effect.asVoid(run(sql.unsafe(attemptSql).unprepared)).pipe(Effect.withSpan("WriteProbe.attempt"))
    })
  )
)
