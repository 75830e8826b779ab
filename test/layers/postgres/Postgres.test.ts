import { assert, describe, it, layer } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Layer, Redacted, Schedule } from "effect"
import { RunnerAddress, RunnerStorage, ShardId, ShardingConfig, SqlRunnerStorage } from "effect/cluster"
import { SqlClient, type SqlError } from "effect/sql"
import { once } from "node:events"
import * as net from "node:net"
import { promisify } from "node:util"
import { StoreError } from "#domain/ports/StoreError.ts"
import * as Postgres from "#layers/postgres/Postgres.ts"
import { DatabaseLiveness } from "#layers/sql/DatabaseLiveness.ts"
import { run, storeError } from "#layers/sql/Query.ts"
import { engines, serverDatabase } from "#test/support/Databases.ts"
import { findBinaries, startServer } from "#test/support/PostgresServer.ts"

const server = engines.find((engine) => engine.name === "server")

const open = (url: string) => Layer.build(Postgres.layer({ url: Redacted.make(url), startTimeout: "100 millis" }))

const refusal = (url: string) => Effect.flip(Effect.scoped(open(url)))

/** A server of the test's own, which it may kill. */
const ownServer = Effect.acquireRelease(
  Effect.promise(() => startServer(findBinaries() ?? "")),
  (server) => Effect.promise(server.stop)
)

/** A way to a port on which bytes can be lost, as behind a network that is cut. */
const silencer = Effect.fnUntraced(function*(target: number) {
  const state = { silent: false, port: 0 }
  const sockets = new Set<net.Socket>()
  const proxy = net.createServer((near) => {
    const far = net.connect(target, "127.0.0.1")
    for (const [from, to] of [[near, far], [far, near]] as const) {
      sockets.add(from)
      from.on("data", (bytes) => state.silent || to.write(bytes))
      from.on("error", () => from.destroy())
      from.on("close", () => state.silent || to.destroy())
    }
  }).listen(0, "127.0.0.1")
  yield* Effect.promise(() => once(proxy, "listening"))
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      proxy.close()
      for (const socket of sockets) socket.destroy()
    })
  )
  state.port = portOf(proxy)
  return state
})

const portOf = (listening: net.Server): number => {
  const address = listening.address()
  return typeof address === "object" && address !== null ? address.port : 0
}

describe.skipIf(server?.available !== true)("Postgres", () => {
  layer(server?.layer ?? Layer.effectContext(Effect.die("no server")), {
    excludeTestServices: true
  })((it) => {
    it.effect("sets its application name and limits statements and idle transactions", () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        assert.strictEqual(sql.driver, "pg")
        const [session] = yield* sql`
          select current_setting('application_name') as name, current_setting('statement_timeout') as statement,
            current_setting('idle_in_transaction_session_timeout') as idle`
        assert.deepStrictEqual(session, { name: "windhover", statement: "30s", idle: "1min" })
      }))

    it.effect("gives shards to one runner of the cluster", () =>
      Effect.gen(function*() {
        const shards = [ShardId.make("default", 1), ShardId.make("default", 2)]
        const [here, there] = [RunnerAddress.make("127.0.0.1", 1), RunnerAddress.make("127.0.0.1", 2)]
        const runner = Effect.map(
          Layer.build(Layer.fresh(SqlRunnerStorage.layer).pipe(Layer.provide(ShardingConfig.layer()))),
          Context.get(RunnerStorage.RunnerStorage)
        )
        const one = yield* runner
        const two = yield* runner
        assert.strictEqual((yield* one.acquire(here, shards)).length, 2)
        assert.strictEqual((yield* two.acquire(there, shards)).length, 0)
      }))
  })

  it.live("continues after the server was down", () =>
    Effect.gen(function*() {
      const own = yield* ownServer
      const sql = yield* SqlClient.SqlClient.pipe(Effect.provide(yield* open(own.url("postgres"))))
      yield* sql`create table kept (n int)`
      yield* sql`insert into kept values (1)`

      const inside = yield* Deferred.make<void>()
      const interrupted = yield* Effect.forkChild(Effect.flip(sql.withTransaction(Effect.gen(function*() {
        yield* sql`insert into kept values (2)`
        yield* Deferred.succeed(inside, undefined)
        yield* sql`select pg_sleep(20)`
      }))))
      yield* Deferred.await(inside)
      yield* Effect.promise(own.kill)
      assert.strictEqual(storeError(yield* Fiber.join(interrupted)).reason._tag, "Unavailable")
      for (let i = 0; i < 12; i++) {
        assert.strictEqual(storeError(yield* Effect.flip(sql`select 1`)).reason._tag, "Unavailable")
      }

      yield* Effect.promise(own.start)
      const kept = sql`select n from kept`.pipe(Effect.retry(Schedule.spaced("20 millis")))
      assert.deepStrictEqual(
        yield* Effect.all(Array.from({ length: 20 }, () => kept), { concurrency: "unbounded" }),
        Array.from({ length: 20 }, () => [{ n: 1 }])
      )
    }))

  it.live("gives up on a silent server, and continues when it answers again", () =>
    Effect.gen(function*() {
      const own = yield* ownServer
      const proxy = yield* silencer(Number(new URL(own.url("postgres")).port))
      const url = new URL(own.url("postgres"))
      url.port = String(proxy.port)
      const sql = yield* SqlClient.SqlClient.pipe(Effect.provide(yield* open(url.href)))
      yield* sql`create table kept (n int)`
      const error = yield* Effect.flip(run(
        sql.withTransaction(Effect.gen(function*() {
          yield* sql`insert into kept values (1)`
          proxy.silent = true
          yield* sql`insert into kept values (2)`
        })),
        100
      ))
      assert.deepStrictEqual(
        error,
        new StoreError({ reason: { _tag: "Unavailable", message: "The database server does not answer." } })
      )
      proxy.silent = false
      assert.deepStrictEqual(yield* sql`select n from kept`.pipe(Effect.retry(Schedule.spaced("50 millis"))), [])
    }))

  it.live(
    "waits for a long statement, but not for a silent server",
    () =>
      Effect.gen(function*() {
        const own = yield* ownServer
        const proxy = yield* silencer(Number(new URL(own.url("postgres")).port))
        const url = new URL(own.url("postgres"))
        url.port = String(proxy.port)
        const faults = {
          "a machine that stands still": {
            begin: () => own.signal("SIGSTOP"),
            end: () => own.signal("SIGCONT")
          },
          "a network that swallows everything": {
            begin: () => void (proxy.silent = true),
            end: () => void (proxy.silent = false)
          }
        }
        yield* Effect.addFinalizer(() => Effect.sync(() => own.signal("SIGCONT")))
        const context = yield* open(url.href)
        const sql = Context.get(context, SqlClient.SqlClient)
        const heart = Context.get(context, DatabaseLiveness)
        /** For ever, if it had to be. */
        const runQuery = <A>(statement: Effect.Effect<A, SqlError.SqlError>) =>
          Effect.provideContext(run(statement, Infinity), context)
        for (const [what, { begin, end }] of Object.entries(faults)) {
          yield* runQuery(sql`select pg_sleep(3)`)
          assert.isFalse(heart.isSilent(), what)
          begin()
          const error = yield* Effect.flip(runQuery(sql`select 1`))
          assert.deepStrictEqual(
            error,
            new StoreError({ reason: { _tag: "Unavailable", message: "The database server does not answer." } })
          )
          assert.isTrue(heart.isSilent(), what)
          yield* Effect.flip(runQuery(Effect.die("Nothing more is asked.")))
          end()
          const rows = yield* runQuery(sql`select 1::int as n`).pipe(Effect.retry(Schedule.spaced("100 millis")))
          assert.deepStrictEqual(rows, [{ n: 1 }], what)
        }
      }),
    120_000
  )

  it.live("waits for a server that starts later", () =>
    Effect.gen(function*() {
      const own = yield* ownServer
      yield* Effect.promise(own.kill)
      const client = yield* Effect.forkChild(Layer.build(Postgres.layer({ url: Redacted.make(own.url("postgres")) })))
      yield* Effect.promise(own.start)
      const sql = yield* SqlClient.SqlClient.pipe(Effect.provide(yield* Fiber.join(client)))
      assert.deepStrictEqual(yield* sql`select 1::int as n`, [{ n: 1 }])
    }))

  it.live("explains a rejected connection without the password", () =>
    Effect.gen(function*() {
      const url = new URL(yield* serverDatabase)
      const wrong = new URL(url)
      wrong.password = "open-sesame"
      const password = yield* refusal(wrong.href)
      assert.strictEqual(password.reason._tag, "Refused")
      assert.include(password.message, "password authentication failed")
      assert.notInclude(password.message, "open-sesame")

      const missing = new URL(url)
      missing.pathname = "/nowhere"
      const database = yield* refusal(missing.href)
      assert.strictEqual(database.reason._tag, "Refused")
      assert.include(database.message, `database "nowhere" does not exist`)
    }))

  it.live("rejects a server that is too old", () =>
    Effect.gen(function*() {
      const url = yield* serverDatabase
      const sql = yield* SqlClient.SqlClient.pipe(Effect.provide(yield* open(url)))
      const name = new URL(url).pathname.slice(1)
      // A server of today that says it is an old one.
      yield* sql`create schema old`
      yield* sql`create function old.current_setting(name text) returns text language sql as
        $$ select case name when 'server_version_num' then '130020' else '13.20' end $$`
      yield* sql.unsafe(`alter database ${name} set search_path = old, pg_catalog, public`)
      const error = yield* refusal(url)
      assert.strictEqual(error.reason._tag, "TooOld")
      assert.include(error.message, "13.20")
      assert.include(error.message, "14")
    }))

  it.live("reports an unreachable server", () =>
    Effect.gen(function*() {
      const silent = net.createServer().listen(0, "127.0.0.1")
      yield* Effect.promise(() => once(silent, "listening"))
      const port = portOf(silent)
      yield* Effect.promise(() => promisify(silent.close.bind(silent))())
      const error = yield* refusal(`postgres://user:open-sesame@127.0.0.1:${port}/windhover`)
      assert.strictEqual(error.reason._tag, "Unreachable")
      assert.include(error.message, "ECONNREFUSED")
      assert.notInclude(error.message, "open-sesame")
    }))
})
