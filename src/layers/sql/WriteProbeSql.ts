import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { WriteProbe } from "#domain/ports/WriteProbe.ts"
import { run } from "./Query.ts"

/**
 * A table of its own: a row in one that stands would find room in pages that the disk has given already. One transaction, whose commit
 * waits for the disk; the lock lets runners that try at once do it one after the other.
 */
const attemptSql = `do $$
begin
  perform pg_advisory_xact_lock(hashtextextended('windhover: whether anything can be written', 0));
  create table windhover_writing as select repeat('-', 1000) as filling from generate_series(1, 64);
  drop table windhover_writing;
end $$`

export const layer = Layer.effect(
  WriteProbe,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    return WriteProbe.of({
      attempt: Effect.asVoid(run(sql.unsafe(attemptSql).unprepared)).pipe(Effect.withSpan("Writing.attempt"))
    })
  })
)
