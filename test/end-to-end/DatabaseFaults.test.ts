import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { migrate } from "#layers/sql/Migrations.ts"
import * as Postgres from "#layers/postgres/Postgres.ts"
import { findBinaries, type PostgresServer, sendSignal, startServer } from "#test/support/PostgresServer.ts"
import { freePort, outside, patience, received, type Service, start, untilHealth } from "#test/support/Service.ts"

const binaries = findBinaries()

/** A server for this test alone. The service logs in as a user with a connection limit, because a superuser cannot be limited. */
const server = Effect.gen(function*() {
  const server = yield* Effect.acquireRelease(
    Effect.promise(() => startServer(binaries ?? "")),
    (server) =>
      Effect.promise(() => {
        server.signal("SIGCONT")
        return server.stop()
      })
  )
  yield* Effect.promise(() => server.run("postgres", "create role app login password 'a password'"))
  yield* Effect.promise(() => server.run("postgres", "create database app owner app"))
  const url = new URL(server.url("app"))
  url.username = "app"
  url.password = "a password"
  yield* migrate.pipe(Effect.provide(Postgres.layer({ url: Redacted.make(url.href) })))
  yield* run(server, ...disks)
  return { server, url: url.href }
})

const run = (server: PostgresServer, ...statements: ReadonlyArray<string>) =>
  Effect.forEach(statements, (statement) => Effect.promise(() => server.run("app", statement)), { discard: true })

/** Less than the 40 s timeout of a statement. On an idle machine a caller waits 7 to 9 s. */
const answeredWithin = "30 seconds"

const disconnect = "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'app'"

/** Raises the error of a full disk, because a disk cannot be filled without root. */
const disk = (full: boolean) => {
  const refusal = "raise exception 'could not extend file: No space left on device' using errcode = '53100'"
  return [
    `create or replace function disk() returns trigger language plpgsql as
      $$ begin ${full ? refusal : "return new"}; end $$`,
    `create or replace function disk_of_questions() returns event_trigger language plpgsql as
      $$ begin ${full ? refusal : "return"}; end $$`
  ].join(";")
}

/** Created before the service starts: creating a trigger waits for all users of the table, and blocks them. */
const disks = [
  disk(false),
  `do $$ declare t text; begin
    for t in select relname from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace loop
      execute format('create trigger disk before insert or update on %I execute function disk()', t);
    end loop; end $$`,
  `create event trigger disk on ddl_command_start when tag in ('CREATE TABLE AS') execute function disk_of_questions()`
]

interface Fault {
  readonly begin: (server: PostgresServer) => Effect.Effect<void>
  readonly end: (server: PostgresServer) => Effect.Effect<void>
  /** Sentence of `/healthz` during the fault; undefined when the fault is too short for a request. */
  readonly health: string | undefined
}

const faults: { readonly [what: string]: Fault } = {
  "a crash of one of its processes, and recovery": {
    begin: (server) =>
      Effect.promise(async () => {
        for (;;) {
          const pid = await server.run("app", "select pid from pg_stat_activity where usename = 'app' limit 1")
          if (pid !== "" && sendSignal(Number(pid), "SIGKILL")) return
        }
      }),
    end: () => Effect.void,
    health: undefined
  },
  "no connection left": {
    begin: (server) => run(server, "alter role app connection limit 0", disconnect),
    end: (server) => run(server, "alter role app connection limit -1"),
    health: "503 The database does not answer."
  },
  "a standby in its place": {
    begin: (server) => run(server, "alter database app set default_transaction_read_only = on", disconnect),
    end: (server) =>
      Effect.andThen(
        Effect.promise(() => server.run("postgres", "alter database app reset default_transaction_read_only")),
        run(server, disconnect)
      ),
    health: "503 The database is read-only; nothing can be written."
  },
  "a full disk": {
    begin: (server) => run(server, disk(true)),
    end: (server) => run(server, disk(false)),
    health: "503 The disk of the database is full; nothing can be written."
  },
  "a machine that stands still, with its connections open": {
    begin: (server) => Effect.sync(() => server.signal("SIGSTOP")),
    end: (server) => Effect.sync(() => server.signal("SIGCONT")),
    health: "503 The database does not answer."
  }
}

const subscribe = (service: Service, topic: string, callback: string) =>
  service.call({ "hub.mode": "subscribe", "hub.topic": topic, "hub.callback": callback, retrieve: "true" })

const settings = {
  "one process": Effect.succeed({}),
  "a runner of a cluster": Effect.map(freePort, (port) => ({ WINDHOVER_RUNNER_ADDRESS: `127.0.0.1:${port}` }))
}

const hooks = ["/one", "/two", "/three"]

// Concurrent, because the tests mostly wait for timeouts.
describe.skipIf(binaries === undefined)("faults of a PostgreSQL server", { concurrent: true }, () => {
  for (const [name, cluster] of Object.entries(settings)) {
    it.live(`are answered with 503 and waited for by ${name}, and nothing is lost`, () =>
      Effect.gen(function*() {
        const world = yield* outside
        const database = yield* server
        const service = yield* start({ WINDHOVER_DATABASE_URL: database.url, ...(yield* cluster) })
        yield* service.ready
        for (const [i, hook] of hooks.entries()) {
          const { status, text } = yield* subscribe(service, world.feeds[i] ?? "", `${world.url}${hook}`)
          assert.strictEqual(status, 200, text)
        }
        const topics = world.feeds.slice(0, hooks.length).join(",")
        const published: Array<string> = []
        const publish = Effect.fnUntraced(function*(id: string) {
          published.push(id)
          world.publish(id)
          return yield* service.call({ "hub.mode": "publish", "hub.url": topics })
        })
        const all = () => hooks.every((hook) => received(world.posted, hook).ids.length === published.length)
        yield* publish("before")
        yield* world.until(all)

        for (const [what, fault] of Object.entries(faults)) {
          world.hold = true // in flight during the fault: confirmations cannot be stored
          const before = world.posted.length
          yield* publish(`${what}: on its way`)
          yield* world.until(() => world.posted.length >= before + hooks.length)
          yield* fault.begin(database.server)
          world.hold = false
          if (fault.health !== undefined) {
            const answers = yield* Effect.all(
              [subscribe(service, `${world.url}/feed?other`, `${world.url}/other`), publish(`${what}: meanwhile`)],
              { concurrency: "unbounded" }
            ).pipe(Effect.timeout(answeredWithin))
            for (const { retryAfter, status, text } of answers) {
              assert.strictEqual(status, 503, text)
              assert.match(text, /for the moment|at the moment/)
              assert.match(retryAfter ?? "", /^[1-9]\d*$/)
            }
            yield* untilHealth(service, fault.health)
          }
          yield* fault.end(database.server)
          yield* untilHealth(service, "200 ok")
          yield* service.ready
          yield* publish(`${what}: after`)
          yield* world.until(all)
        }
        for (const hook of hooks) assert.deepStrictEqual(received(world.posted, hook), { ids: published, faults: [] })
        assert.strictEqual(service.process.exitCode, null)
      }).pipe(Effect.scoped, Effect.timeout(2 * patience)), 2 * patience + 10_000)
  }
})
