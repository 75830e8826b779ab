import { PgClient } from "@effect/sql-pg"
import { assert, describe, it, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Logger, Queue, References, Schedule } from "effect"
import { RunnerAddress, RunnerStorage, ShardId, ShardingConfig, SqlRunnerStorage } from "effect/cluster"
import { Reactivity } from "effect/reactivity"
import { SqlClient } from "effect/sql"
import { spawn } from "node:child_process"
import { once } from "node:events"
import * as fs from "node:fs"
import * as path from "node:path"
import * as readline from "node:readline"
import * as EmbeddedPostgres from "#layers/postgres/EmbeddedPostgres.ts"
import { migrate } from "#layers/sql/Migrations.ts"
import { storeError } from "#layers/sql/Query.ts"
import { temporaryDirectory } from "#test/support/Databases.ts"
import { noThreads } from "#test/support/NoThreads.ts"

const layerTemporary = Layer.unwrap(
  Effect.map(temporaryDirectory, (directory) => EmbeddedPostgres.layer({ directory }))
)

describe("EmbeddedPostgres", () => {
  layer(layerTemporary, { excludeTestServices: true })((it) => {
    it.effect("is a PostgreSQL that Effect's cluster knows as single-session", () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        assert.strictEqual(sql.driver, "pglite")
        assert.strictEqual(sql.withoutTransforms().driver, "pglite")
        const [row] = yield* sql<{ version: number }>`select current_setting('server_version_num')::int as version`
        assert.isAtLeast(row?.version ?? 0, 180000)
      }))

    it.effect("leases shards to one runner of the cluster", () =>
      Effect.gen(function*() {
        const storage = yield* RunnerStorage.RunnerStorage
        const shards = [ShardId.make("default", 1), ShardId.make("default", 2)]
        const [here, there] = [RunnerAddress.make("127.0.0.1", 1), RunnerAddress.make("127.0.0.1", 2)]
        assert.strictEqual((yield* storage.acquire(here, shards)).length, 2)
        assert.strictEqual((yield* storage.acquire(there, shards)).length, 0)
        yield* storage.releaseAll(here)
        assert.strictEqual((yield* storage.acquire(there, shards)).length, 2)
      }).pipe(Effect.provide(SqlRunnerStorage.layer.pipe(Layer.provide(ShardingConfig.layer())))))

    it.effect("runs transactions of many fibers one after the other", () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        yield* sql`create table counted (n int)`
        yield* sql`insert into counted values (0)`
        const increment = sql.withTransaction(Effect.gen(function*() {
          const [row] = yield* sql<{ n: number }>`select n from counted`
          yield* Effect.yieldNow
          yield* sql`update counted set n = ${(row?.n ?? 0) + 1}`
        }))
        yield* Effect.all(Array.from({ length: 40 }, () => increment), { concurrency: "unbounded" })
        assert.deepStrictEqual(yield* sql`select n from counted`, [{ n: 40 }])
      }))

    it.effect("rolls back the transaction of an interrupted fiber", () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        yield* sql`create table untouched (n int)`
        const inside = yield* Deferred.make<void>()
        const fiber = yield* Effect.forkChild(sql.withTransaction(
          Effect.andThen(
            sql`insert into untouched values (1)`,
            Effect.andThen(Deferred.succeed(inside, undefined), Effect.never)
          )
        ))
        yield* Deferred.await(inside)
        yield* Fiber.interrupt(fiber)
        assert.deepStrictEqual(yield* sql`select count(*)::int as n from untouched`, [{ n: 0 }])
      }))

    it.effect("removes the prepared statements of a disconnected client", () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const { config } = yield* PgClient.PgClient
        const prepared = sql<{ n: number }>`select count(*)::int as n from pg_prepared_statements`
        yield* prepared
        const [before] = yield* prepared
        yield* Effect.scoped(Effect.gen(function*() {
          const other = yield* PgClient.make(config)
          for (let i = 0; i < 10; i++) yield* other.unsafe(`select ${i}::int as x`)
          const [during] = yield* prepared
          assert.strictEqual(during?.n, (before?.n ?? 0) + 10)
        })).pipe(Effect.provide(Reactivity.layer))
        yield* prepared.pipe(
          Effect.repeat({ until: ([now]) => now?.n === before?.n, schedule: Schedule.spaced("10 millis") })
        )
      }))

    it.effect("notifies its listeners", () =>
      Effect.gen(function*() {
        const sql = yield* PgClient.PgClient
        const heard = yield* sql.listen("news")
        yield* sql.notify("news", "hello")
        assert.strictEqual((yield* Queue.take(heard)).payload, "hello")
      }))

    it.effect("carries rows of 20 MiB both ways", () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const bytes = new Uint8Array(20 * 1024 * 1024).fill(7)
        yield* sql`create table large (bytes bytea)`
        yield* sql`insert into large values (${bytes})`
        const [row] = yield* sql<{ bytes: Uint8Array }>`select bytes from large`
        assert.strictEqual(Buffer.compare(row?.bytes ?? new Uint8Array(), bytes), 0)
      }))
  })

  it.live("reports a system without free threads", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      yield* noThreads
      const error = yield* Effect.flip(Layer.build(EmbeddedPostgres.layer({ directory })))
      assert.include(error.message, "Worker initialization failure: EAGAIN")
    }))

  it.live("restarts with all acknowledged data after its thread died", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const log = path.join(directory, "database", "pg_wal")
      yield* Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        yield* sql`create table kept (n int)`
        yield* sql`insert into kept values (1)`
        // Without a place for its log it panics.
        fs.renameSync(log, `${log}.away`)
        const error = yield* Effect.flip(
          Effect.andThen(sql`select pg_switch_wal()::text`, sql`insert into kept values (2)`)
        )
        assert.strictEqual(error.reason._tag, "ConnectionError")
        assert.strictEqual(storeError(error).reason._tag, "Unavailable")
        const meanwhile = yield* Effect.flip(sql`select 1`)
        assert.strictEqual(storeError(meanwhile).reason._tag, "Unavailable")
        fs.renameSync(`${log}.away`, log)
        const kept = yield* sql<{ n: number }>`select n from kept`.pipe(Effect.retry(Schedule.spaced("50 millis")))
        assert.deepStrictEqual(kept, [{ n: 1 }])
      }).pipe(Effect.provide(EmbeddedPostgres.layer({ directory })))
    }))

  it.live(
    "creates no empty cluster in place of a vanished one, and continues when it is back",
    () =>
      Effect.gen(function*() {
        const directory = yield* temporaryDirectory
        const cluster = path.join(directory, "database")
        const missed = yield* Deferred.make<void>()
        const log = Logger.make(({ fiber }) => {
          const { reason } = fiber.getRef(References.CurrentLogAnnotations)
          if (String(reason).includes(`${cluster} has gone`)) Deferred.doneUnsafe(missed, Effect.void)
        })
        yield* Effect.gen(function*() {
          const sql = yield* SqlClient.SqlClient
          yield* sql`create table kept (n int)`
          yield* sql`insert into kept values (1)`
          // As when the volume is taken away: it panics, and finds nothing when it starts again.
          const files = path.join(cluster, "pg_wal")
          fs.renameSync(files, path.join(directory, "log"))
          yield* Effect.flip(Effect.andThen(sql`select pg_switch_wal()::text`, sql`insert into kept values (2)`))
          fs.renameSync(cluster, `${cluster}.away`)
          yield* Deferred.await(missed)
          assert.isFalse(fs.existsSync(cluster))
          fs.rmSync(path.join(`${cluster}.away`, "pg_wal"), { recursive: true, force: true })
          fs.renameSync(path.join(directory, "log"), path.join(`${cluster}.away`, "pg_wal"))
          fs.renameSync(`${cluster}.away`, cluster)
          const kept = yield* sql<{ n: number }>`select n from kept`.pipe(Effect.retry(Schedule.spaced("50 millis")))
          assert.deepStrictEqual(kept, [{ n: 1 }])
        }).pipe(Effect.provide(EmbeddedPostgres.layer({ directory }).pipe(Layer.provide(Logger.layer([log])))))
      })
  )

  it.live("rejects a damaged cluster and names it", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      yield* Effect.scoped(Layer.build(EmbeddedPostgres.layer({ directory })))
      fs.writeFileSync(path.join(directory, "database", "global", "pg_control"), "nothing")
      const error = yield* Effect.flip(Effect.scoped(Layer.build(EmbeddedPostgres.layer({ directory }))))
      assert.strictEqual(error.reason._tag, "Damaged")
      assert.include(error.message, path.join(directory, "database"))
    }))

  it.live(
    "starts with an empty or foreign pid file of PostgreSQL after a kill",
    () =>
      Effect.gen(function*() {
        const directory = yield* temporaryDirectory
        yield* Effect.scoped(Layer.build(EmbeddedPostgres.layer({ directory })))
        for (const word of ["", `${process.pid}\n/tmp\n`, "nonsense"]) {
          fs.writeFileSync(path.join(directory, "database", "postmaster.pid"), word)
          yield* Effect.scoped(Layer.build(EmbeddedPostgres.layer({ directory })))
        }
      })
  )

  it.live("starts after kills at any point of the first start", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const exists = (...parts: ReadonlyArray<string>) => fs.existsSync(path.join(directory, ...parts))
      const unpacked = () => {
        try {
          return fs.readdirSync(path.join(directory, "database.partial"), { recursive: true }).length
        } catch {
          return exists("database") ? Infinity : 0 // moved while it was read
        }
      }
      yield* killFirstStart(directory, () => exists("lock"))
      yield* killFirstStart(directory, () => unpacked() > 200)
      yield* killFirstStart(directory, () => exists("database"))
      yield* killFirstStart(directory, () => exists("database", "postmaster.pid"))
      // recovery of what the former ones left, and migrations
      const log = path.join(directory, "database", "global", "pg_control")
      const { mtimeMs } = fs.statSync(log)
      yield* killFirstStart(directory, () => fs.statSync(log).mtimeMs > mtimeMs)
      assert.isFalse(exists("database.partial"))
      const done = yield* migrate.pipe(Effect.provide(EmbeddedPostgres.layer({ directory })))
      assert.isTrue(done.length === 0 || done[0] === "0001_schema")
      assert.deepStrictEqual(yield* migrate.pipe(Effect.provide(EmbeddedPostgres.layer({ directory }))), [])
    }))

  it.live("explains why the cluster could not be created", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      // where the cluster belongs is something else, and unpacking cannot replace it
      fs.symlinkSync("nowhere", path.join(directory, "database"))
      const error = yield* Effect.flip(Effect.scoped(Layer.build(EmbeddedPostgres.layer({ directory }))))
      assert.strictEqual(error.reason._tag, "Unusable")
      assert.include(error.message, `The data directory ${directory} cannot be used (ENOTDIR: `)
    }))

  it.live(
    "loses no acknowledged data when the process is killed during writes",
    () =>
      Effect.gen(function*() {
        const directory = yield* temporaryDirectory
        const acknowledged: Array<number> = []
        for (const enough of [1, 40]) {
          const more = yield* Effect.promise(() => writeUntilKilled(directory, enough))
          acknowledged.push(...more)
          assert.isAtLeast(more.length, enough)
        }
        const sql = SqlClient.SqlClient.use((sql) => sql<{ n: number }>`select n from written order by n`)
        const found = yield* sql.pipe(Effect.provide(EmbeddedPostgres.layer({ directory })))
        const present = new Set(found.map((row) => row.n))
        assert.deepStrictEqual(acknowledged.filter((n) => !present.has(n)), [])
        // Each transaction wrote two rows that belong together.
        assert.deepStrictEqual(found.filter((row) => !present.has(-row.n)), [])
      })
  )
})

/** Starts a migrated database in a process of its own, and kills it with -9 as soon as `point` is reached, or when it serves. */
const killFirstStart = (directory: string, point: () => boolean) => {
  const script = `
    import { Effect } from "effect"
    import * as EmbeddedPostgres from "#layers/postgres/EmbeddedPostgres.ts"
    import { migrate } from "#layers/sql/Migrations.ts"
    setInterval(() => {}, 1000)
    Effect.runPromise(Effect.andThen(migrate, Effect.sync(() => process.stdout.write("serves"))).pipe(
      Effect.andThen(Effect.never), Effect.provide(EmbeddedPostgres.layer({ directory: ${
    JSON.stringify(directory)
  } })))).catch((why) => {
      console.error(why)
      process.exit(1)
    })`
  return Effect.acquireUseRelease(
    Effect.sync(() =>
      spawn(process.execPath, ["--input-type=module-typescript", "-e", script], {
        stdio: ["ignore", "pipe", "inherit"]
      })
    ),
    (child) => {
      const serving = Effect.promise(() => once(child.stdout, "data"))
      const ended = Effect.promise(() => once(child, "exit")).pipe(
        Effect.andThen(Effect.die(new Error("the database did not start")))
      )
      const reached = Effect.repeat(Effect.sync(point), { until: (yes) => yes, schedule: Schedule.spaced("2 millis") })
      return Effect.raceAllFirst([serving, reached, ended])
    },
    (child) =>
      Effect.promise(async () => {
        if (child.exitCode !== null) return
        const gone = once(child, "exit")
        child.kill("SIGKILL")
        await gone
      })
  )
}

/** Writes transactions in a process of its own, kills it with -9 when it has acknowledged `enough`, and returns all that it had. */
const writeUntilKilled = async (directory: string, enough: number): Promise<ReadonlyArray<number>> => {
  const script = `
    import { Effect } from "effect"
    import { SqlClient } from "effect/sql"
    import * as fs from "node:fs"
    import * as EmbeddedPostgres from "#layers/postgres/EmbeddedPostgres.ts"
    const write = Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* sql\`create table if not exists written (n int primary key, filler text)\`
      const [last] = yield* sql\`select coalesce(max(n), 0)::int as n from written\`
      let next = last.n
      const one = Effect.suspend(() => {
        const n = ++next
        return Effect.andThen(
          sql.withTransaction(Effect.all([
            sql\`insert into written values (\${n}, repeat('x', 500))\`,
            sql\`insert into written values (\${-n}, repeat('y', 500))\`
          ])),
          Effect.sync(() => fs.writeSync(1, n + "\\n"))
        )
      })
      yield* Effect.all(Array.from({ length: 8 }, () => Effect.forever(one)), { concurrency: "unbounded" })
    })
    setInterval(() => {}, 1000)
    Effect.runFork(Effect.provide(write, EmbeddedPostgres.layer({ directory: ${JSON.stringify(directory)} })))`
  const child = spawn(process.execPath, ["--input-type=module-typescript", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"]
  })
  const acknowledged: Array<number> = []
  const lines = readline.createInterface({ input: child.stdout }).on("line", (line) => {
    if (acknowledged.push(Number(line)) === enough) child.kill("SIGKILL")
  })
  await once(lines, "close")
  return acknowledged
}
