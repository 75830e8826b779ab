import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import * as fs from "node:fs"
import * as path from "node:path"
import { backupError } from "#layers/backup/BackupError.ts"
import * as Move from "#layers/backup/Move.ts"
import * as Source from "#layers/backup/Source.ts"
import * as EmbeddedPostgres from "#layers/postgres/EmbeddedPostgres.ts"
import * as Postgres from "#layers/postgres/Postgres.ts"
import { migrate } from "#layers/sql/Migrations.ts"
import { emptyDatabase, engines, temporaryDirectory } from "#test/support/Databases.ts"
import { contents, fillDatabase } from "#test/support/FilledDatabase.ts"

const hasServer = engines.some(({ available, name }) => name === "server" && available)

const layerOf = (place: Source.Place) =>
  place._tag === "Embedded" ? EmbeddedPostgres.layer({ directory: place.dataDir }) : Postgres.layer({ url: place.url })

/**
 * One step of a busy service: adds a numbered row, removes an older one, passes a unique value from one row to another, and changes a key
 * that has gone and comes again.
 */
const work = (n: number) =>
  SqlClient.SqlClient.use((sql) =>
    sql.withTransaction(Effect.gen(function*() {
      yield* sql`insert into hubs (hub, pushed_documents, missed_entries, consecutive_misses) values (${`hub ${n}`}, ${
        BigInt(n)
      }, 0, 0)`
      yield* sql`delete from hubs where pushed_documents = ${BigInt(n - 50)}`
      yield* sql`update accounts set jid = null where id = ${1 + n % 3}`
      yield* sql`update accounts set jid = 'wanted' where id = ${1 + (n + 1) % 3}`
      yield* sql`delete from host_pauses where partition = 9`
      yield* sql`insert into host_pauses values (9, 'comes again', 'now', 'now')`
      yield* sql`insert into events (account_id, at, event) values (1, now(), ${`event ${n}`})`
    }))
  )

/** A service that works on a database until it is told to stop. Its last step is in `last.n`. */
const runService = (place: Source.Place, last: { n: number }) =>
  Effect.gen(function*() {
    const stopping = yield* Deferred.make<void>()
    const isBusy = yield* Deferred.make<void>()
    const service = yield* Effect.forkScoped(
      Effect.gen(function*() {
        while (!(yield* Deferred.isDone(stopping))) {
          yield* work(last.n + 1)
          last.n++
          yield* Deferred.succeed(isBusy, undefined)
        }
      }).pipe(Effect.provide(layerOf(place)), Effect.scoped)
    )
    yield* Effect.raceFirst(Deferred.await(isBusy), Fiber.join(service))
    return { stop: Effect.andThen(Deferred.succeed(stopping, undefined), Effect.orDie(Fiber.join(service))) }
  })

const prepare = (place: Source.Place) =>
  Effect.gen(function*() {
    yield* migrate
    yield* fillDatabase(4)
    yield* SqlClient.SqlClient.use((sql) => sql`update accounts set jid = null`)
  }).pipe(Effect.provide(layerOf(place)), Effect.scoped)

/** Contents with the constraints of foreign keys, which are valid at the end of a move. */
const look = (place: Source.Place) => Effect.scoped(Effect.provide(contents, Source.layer(place)))

const operator = (stop: Effect.Effect<unknown>, atStop: () => void, keyDir = "/nowhere"): Move.Operator => ({
  keyDir,
  progress: () => undefined,
  stopService: Effect.asVoid(Effect.andThen(Effect.sync(atStop), stop))
})

describe.skipIf(!hasServer)("Move", () => {
  it.live("to a server and back while the service writes: each row arrives, and the old database refuses starts", () =>
    Effect.gen(function*() {
      const embedded = { _tag: "Embedded", dataDir: yield* temporaryDirectory } as const
      const server: Source.Place = { _tag: "Server", url: Redacted.make(yield* emptyDatabase) }
      const back = { _tag: "Embedded", dataDir: path.join(yield* temporaryDirectory, "back") } as const
      const last = { n: 0 }
      yield* prepare(embedded)
      fs.writeFileSync(path.join(embedded.dataDir, "encryption-key"), "key of the service")
      for (const [from, to] of [[embedded, server], [server, back]] as const) {
        yield* Effect.scoped(Effect.gen(function*() {
          const began = last.n
          const service = yield* runService(from, last)
          let atStop = 0
          const moved = yield* Effect.scoped(
            Move.move(from, to, operator(service.stop, () => void (atStop = last.n), embedded.dataDir))
          )
          assert.isAbove(atStop, began + 1, "the service works while its rows are copied")
          assert.isAbove(moved.lastChanges, 0)
          const old = yield* look(from)
          assert.deepStrictEqual(yield* look(to), old)
          const events = old.rows["events"]?.filter((row) => row.includes("event "))
          assert.strictEqual(events?.length, last.n)
          const refusal = yield* migrate.pipe(Effect.provide(layerOf(from)), Effect.scoped, Effect.flip)
          assert.strictEqual(refusal.reason._tag, "Moved")
          assert.include(refusal.message, Move.describePlace(to))
        }))
      }
      assert.strictEqual(fs.readFileSync(path.join(back.dataDir, "encryption-key"), "utf8"), "key of the service")
      yield* Effect.scoped(Move.cancel(server))
      assert.deepStrictEqual(yield* migrate.pipe(Effect.provide(layerOf(server)), Effect.scoped), [])
    }))

  it.live("a failure at the stop leaves the old database in use, and the new one empty", () =>
    Effect.gen(function*() {
      const from: Source.Place = { _tag: "Server", url: Redacted.make(yield* emptyDatabase) }
      const to: Source.Place = { _tag: "Server", url: Redacted.make(yield* emptyDatabase) }
      yield* prepare(from)
      const before = yield* look(from)
      const failing: Move.Operator = {
        keyDir: "/nowhere",
        progress: () => undefined,
        stopService: Effect.gen(function*() {
          const start = (place: Source.Place) =>
            migrate.pipe(Effect.provide(Source.layer(place)), Effect.scoped, Effect.flip)
          assert.strictEqual((yield* Effect.orDie(start(from))).reason._tag, "Moved")
          assert.strictEqual((yield* Effect.orDie(start(to))).reason._tag, "Loading")
          return yield* backupError("Running", "The service does not stop.")
        })
      }
      const error = yield* Effect.flip(Effect.scoped(Move.move(from, to, failing)))
      assert.strictEqual(error.message, "The service does not stop.")
      assert.deepStrictEqual(yield* look(from), before)
      const left = SqlClient.SqlClient.use((sql) =>
        sql`select tgname as name from pg_trigger where not tgisinternal
          union all select relname from pg_class where relname like 'windhover_%' and relname not like 'windhover_migrations%'`
      )
      assert.deepStrictEqual(yield* Effect.scoped(Effect.provide(left, Source.layer(from))), [])
      const tables = SqlClient.SqlClient.use((sql) =>
        sql`select relname from pg_class where relnamespace = 'public'::regnamespace`
      )
      assert.deepStrictEqual(
        (yield* Effect.scoped(Effect.provide(tables, Source.layer(to)))).filter(({ relname }) =>
          !String(relname).includes("trgm")
        ),
        []
      )
    }))

  it.live("a target with a database is refused", () =>
    Effect.gen(function*() {
      const from: Source.Place = { _tag: "Server", url: Redacted.make(yield* emptyDatabase) }
      const to: Source.Place = { _tag: "Server", url: Redacted.make(yield* emptyDatabase) }
      yield* migrate.pipe(Effect.provide(layerOf(from)), Effect.scoped)
      yield* migrate.pipe(Effect.provide(layerOf(to)), Effect.scoped)
      const dataDir = yield* temporaryDirectory
      fs.mkdirSync(path.join(dataDir, "database"))
      fs.writeFileSync(path.join(dataDir, "database", "PG_VERSION"), "18\n")
      const idle = operator(Effect.void, () => undefined)
      for (const place of [to, { _tag: "Embedded", dataDir } as const]) {
        const error = yield* Effect.flip(Effect.scoped(Move.move(from, place, idle)))
        assert.strictEqual(error.reason._tag, "NotEmpty")
      }
      assert.deepStrictEqual(yield* migrate.pipe(Effect.provide(layerOf(to)), Effect.scoped), [])
    }))
})
