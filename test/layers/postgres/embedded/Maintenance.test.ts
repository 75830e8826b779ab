import { assert, describe, layer } from "@effect/vitest"
import { Deferred, Effect, Exit, Layer, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { setTimeout } from "node:timers/promises"
import { maintain, type MaintenanceOptions } from "#layers/postgres/embedded/Maintenance.ts"
import * as EmbeddedPostgres from "#layers/postgres/EmbeddedPostgres.ts"
import { commitsLater } from "#layers/sql/Conditions.ts"
import { temporaryDirectory } from "#test/support/Databases.ts"

const database = Layer.unwrap(Effect.map(temporaryDirectory, (directory) => EmbeddedPostgres.layer({ directory })))

/** More maintenance of the same database, with its statement for checkpoints. */
const maintenance = (options: Omit<MaintenanceOptions, "checkpoint" | "isCopied">) =>
  Layer.effectDiscard(
    SqlClient.SqlClient.use((sql) =>
      maintain({ ...options, checkpoint: Effect.asVoid(Effect.mapError(sql`checkpoint`, String)) })
    )
  )

const lastCheckpoint = Effect.map(
  SqlClient.SqlClient.use((sql) => sql<{ at: string }>`select checkpoint_lsn::text as at from pg_control_checkpoint()`),
  (rows) => rows[0]?.at
)

const isLogSynced = (sql: SqlClient.SqlClient) =>
  Effect.map(
    sql<{ synced: boolean }>`select pg_current_wal_flush_lsn() >= pg_current_wal_insert_lsn() as synced`,
    ([row]) => row?.synced === true
  )

/** Repeats a query in real time until its condition holds, because maintenance reports no end. */
const eventually = (holds: Effect.Effect<boolean, unknown>) =>
  Effect.promise(async () => {
    while (!(await Effect.runPromise(holds))) await setTimeout(10)
  })

describe("Maintenance", () => {
  layer(database)((it) => {
    it.effect("runs a checkpoint after enough bytes of log", () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const last = Effect.provideService(lastCheckpoint, SqlClient.SqlClient, sql)
        yield* sql`create table written (filler text)`
        yield* sql`checkpoint`
        const before = yield* last
        yield* TestClock.adjust("5 seconds") // the first look counts all that was ever written
        yield* eventually(Effect.map(last, (now) => now !== before))
        const first = yield* last
        yield* sql`insert into written values ('little')`
        yield* TestClock.adjust("5 seconds")
        for (let i = 0; i < 3; i++) yield* sql`select 1` // it has had its turn
        assert.strictEqual(yield* last, first)
      }).pipe(
        Effect.provide(maintenance({ checkpointBytes: 1024 * 1024, freezeAge: 2 ** 31 - 1 }))
      ))

    it.effect("runs a checkpoint in the database's thread every 128 MB of log", () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const last = Effect.provideService(lastCheckpoint, SqlClient.SqlClient, sql)
        const before = yield* last
        const write = (mb: number) =>
          sql`select pg_logical_emit_message(false, '', repeat('x', ${mb} << 20), false)::text`
        yield* TestClock.adjust("5 seconds")
        yield* write(20)
        yield* TestClock.adjust("5 seconds")
        for (let i = 0; i < 3; i++) yield* sql`select 1` // it has had its turn
        assert.strictEqual(yield* last, before)
        for (let i = 0; i < 6; i++) yield* write(20)
        yield* TestClock.adjust("5 seconds")
        yield* eventually(Effect.map(last, (now) => now !== before))
      }))

    it.effect("vacuums and analyzes the table with the most dead rows", () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        yield* sql`create table churned as select g as n from generate_series(1, 3000) g`
        yield* sql`update churned set n = n + 1`
        yield* sql`select pg_stat_force_next_flush()::text`
        const dead = Effect.map(
          sql<{ n: number }>`select n_dead_tup::int as n from pg_stat_user_tables where relname = 'churned'`,
          (rows) => rows[0]?.n ?? -1
        )
        yield* eventually(Effect.map(dead, (n) => n === 3000))
        yield* TestClock.adjust("1 minute")
        yield* eventually(Effect.map(dead, (n) => n === 0))
        const bounds = sql<{ count: number }>`
          select array_length(histogram_bounds::text::int[], 1) as count from pg_stats where tablename = 'churned'`
        // The sample of an analyze has 300 rows for each of these 25 intervals.
        yield* eventually(Effect.map(bounds, ([row]) => row?.count === 26))
      }))

    it.effect("writes commits to the disk that did not wait for it", () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const isSynced = isLogSynced(sql)
        yield* sql`create table relaxed (n int)`
        yield* sql.unsafe(`insert into relaxed select 1 where ${commitsLater}`)
        assert.isFalse(yield* isSynced)
        yield* TestClock.adjust("5 seconds")
        yield* eventually(isSynced)
      }))

    it.effect("writes such commits to the disk during a checkpoint, too", () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const isSynced = isLogSynced(sql)
        const scope = yield* Scope.make()
        const begun = yield* Deferred.make<void>()
        const checkpoint = Effect.andThen(Deferred.succeed(begun, undefined), Effect.never)
        yield* Scope.provide(maintain({ checkpoint, checkpointBytes: 1, freezeAge: 2 ** 31 - 1 }), scope)
        yield* TestClock.adjust("5 seconds")
        yield* Deferred.await(begun)
        yield* sql`create table late (n int)`
        yield* sql.unsafe(`insert into late select 1 where ${commitsLater}`)
        assert.isFalse(yield* isSynced)
        yield* TestClock.adjust("5 seconds")
        yield* eventually(isSynced)
        yield* Scope.close(scope, Exit.void)
      }))

    it.effect("discards plans that were made for small tables", () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const explained = Effect.map(
          sql<{ "QUERY PLAN": string }>`explain execute by_number(null)`.unprepared,
          ([row]) => row?.["QUERY PLAN"] ?? ""
        )
        yield* sql`create table growing (n int primary key)`
        yield* sql`vacuum (analyze) growing`
        yield* sql`set plan_cache_mode to force_generic_plan`
        yield* sql`prepare by_number (int) as select from growing where n = $1`.unprepared
        assert.include(yield* explained, "Seq Scan")
        yield* sql`insert into growing select generate_series(1, 3000)`
        assert.include(yield* explained, "Seq Scan")
        yield* TestClock.adjust("1 minute")
        yield* eventually(Effect.map(explained, (plan) => plan.includes("growing_pkey")))
        yield* sql`deallocate by_number`
      }))

    it.effect("freezes the oldest table, so that transaction ids never run out", () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const age = Effect.map(
          sql<{ age: number }>`select age(datfrozenxid)::int as age from pg_database`,
          (rows) => Math.max(...rows.map((row) => row.age))
        )
        for (let i = 0; i < 60; i++) yield* sql`insert into written values ('one transaction')`
        const before = yield* age
        assert.isAbove(before, 50)
        // A minute a table, until all have had their turn: the ids that are in use are then younger than the limit.
        for (let i = 0; i < 5_000 && (yield* age) > 50; i++) {
          yield* TestClock.adjust("1 minute")
          yield* eventually(Effect.map(sql`select 1`, () => true))
        }
        assert.isAtMost(yield* age, 50)
      }).pipe(Effect.provide(maintenance({ checkpointBytes: 2 ** 40, freezeAge: 50 }))))
  })
})
