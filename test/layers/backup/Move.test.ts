import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Logger, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { SqlClient } from "effect/sql"
import * as fs from "node:fs"
import * as path from "node:path"
import { backupError } from "#layers/backup/BackupError.ts"
import * as Catalog from "#layers/backup/Catalog.ts"
import * as Changes from "#layers/backup/Changes.ts"
import { catchUp, clear, on } from "#layers/backup/Copy.ts"
import * as Load from "#layers/backup/Load.ts"
import * as Move from "#layers/backup/Move.ts"
import * as Source from "#layers/backup/Source.ts"
import * as Database from "#layers/postgres/Database.ts"
import * as EmbeddedPostgres from "#layers/postgres/EmbeddedPostgres.ts"
import * as Postgres from "#layers/postgres/Postgres.ts"
import * as Settings from "#layers/Settings.ts"
import { forget, forgetAbandoned, hold } from "#layers/sql/ChangeRecord.ts"
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

/** Triggers, functions and tables of a move that a database has. */
const traces = (place: Source.Place) =>
  SqlClient.SqlClient.use((sql) =>
    Effect.map(
      sql<{ name: string }>`select tgname::text as name from pg_trigger where not tgisinternal
        union all select proname::text from pg_proc where proname like 'windhover_%'
        union all select relname::text from pg_class where relkind = 'r' and relname like 'windhover_%'
          and relname <> 'windhover_migrations'`,
      (rows) => rows.map(({ name }) => name)
    )
  ).pipe(Effect.provide(Source.layer(place)), Effect.scoped)

/** A service, as far as its database is concerned. */
const serviceOn = (place: Source.Place, logger: Logger.Logger<unknown, void>) =>
  Database.layer.pipe(
    Layer.provide(
      Settings.layerValues(place._tag === "Embedded" ? { dataDir: place.dataDir } : { databaseUrl: place.url })
    ),
    Layer.provide(Logger.layer([logger]))
  )

/** Starts a service on a database. Returns the log. */
const startOn = (place: Source.Place) =>
  Effect.gen(function*() {
    const lines: Array<string> = []
    yield* Effect.scoped(Layer.build(serviceOn(place, Logger.make(({ message }) => void lines.push(String(message))))))
    return lines
  })

/** The old database of a move, as a kill leaves it while rows are copied. */
const recordChanges = (place: Source.Place) =>
  Effect.gen(function*() {
    yield* Changes.record("0badcafe", yield* Catalog.readTables)
    yield* work(1)
  }).pipe(Effect.provide(Source.layer(place)), Effect.scoped)

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
      const keyFile = path.join(back.dataDir, "encryption-key")
      assert.strictEqual(fs.readFileSync(keyFile, "utf8"), "key of the service")
      assert.strictEqual(fs.statSync(keyFile).mode & 0o777, 0o600)
      assert.deepStrictEqual(yield* Move.cancel(server, undefined), [{ place: server, state: "usable" }])
      assert.deepStrictEqual(yield* Move.cancel(server, back), [])
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
      assert.deepStrictEqual(yield* traces(from), [])
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

  it.live("the next start removes the record of a killed move, and says so", () =>
    Effect.gen(function*() {
      const embedded: Source.Place = { _tag: "Embedded", dataDir: yield* temporaryDirectory }
      const server: Source.Place = { _tag: "Server", url: Redacted.make(yield* emptyDatabase) }
      for (const place of [embedded, server]) {
        yield* prepare(place)
        yield* recordChanges(place)
        assert.include(yield* traces(place), "windhover_changes_0badcafe_hubs")
        const said = yield* startOn(place)
        assert.match(said.join(), /An earlier 'windhover move' from this database did not complete/)
        assert.deepStrictEqual(yield* traces(place), [])
        assert.deepStrictEqual(yield* startOn(place), [])
      }
    }))

  it.live("a service keeps the record of a move whose command lives, and no other command counts on a server", () =>
    Effect.gen(function*() {
      const from: Source.Place = { _tag: "Server", url: Redacted.make(yield* emptyDatabase) }
      yield* prepare(from)
      const command = Source.layer(from)
      yield* recordChanges(from)
      const before = yield* traces(from)
      yield* Effect.gen(function*() {
        yield* hold("0badcafe", "server")
        assert.deepStrictEqual(yield* startOn(from), [])
        assert.deepStrictEqual(yield* traces(from), before)
      }).pipe(Effect.scoped, Effect.provide(command))
      yield* Effect.gen(function*() {
        yield* hold("0badcaff", "server")
        assert.lengthOf(yield* startOn(from), 1)
        assert.deepStrictEqual(yield* traces(from), [])
      }).pipe(Effect.scoped, Effect.provide(command))
    }))

  it.live("a move holds its record while the service looks for abandoned ones", () =>
    Effect.gen(function*() {
      const from: Source.Place = { _tag: "Server", url: Redacted.make(yield* emptyDatabase) }
      const to: Source.Place = { _tag: "Server", url: Redacted.make(yield* emptyDatabase) }
      yield* prepare(from)
      const check = forgetAbandoned.pipe(Effect.provide(layerOf(from)), Effect.scoped, Effect.orDie)
      yield* Effect.scoped(Move.move(from, to, operator(check, () => undefined)))
      assert.deepStrictEqual(yield* look(to), yield* look(from))
    }))

  it.effect("a running service removes the record of a move as soon as its command has gone", () =>
    Effect.gen(function*() {
      const embedded: Source.Place = { _tag: "Embedded", dataDir: yield* temporaryDirectory }
      const server: Source.Place = { _tag: "Server", url: Redacted.make(yield* emptyDatabase) }
      for (const place of [embedded, server]) {
        const removed = yield* Deferred.make<void>()
        const logger = Logger.make(({ message }) => {
          if (
            /^An earlier 'windhover move' .* did not complete\. Its triggers and tables were removed/.test(
              String(message)
            )
          ) {
            Deferred.doneUnsafe(removed, Exit.void)
          }
        })
        const command = place._tag === "Embedded" ? Source.layerRunning(place.dataDir) : Source.layer(place)
        yield* Effect.gen(function*() {
          const sql = yield* SqlClient.SqlClient
          const functions = sql`select from pg_proc where proname like 'windhover_%'`
          yield* hold("0badcafe", place._tag === "Embedded" ? "embedded" : "server").pipe(
            Effect.andThen(
              Effect.flatMap(Catalog.readTables, (tables) => Changes.record("0badcafe", tables.slice(0, 3)))
            ),
            Effect.andThen(on(sql)(forgetAbandoned)),
            Effect.scoped,
            Effect.provide(command)
          )
          assert.lengthOf(yield* functions, 3)
          // One minute after the other: with minutes that outrun the database, its queue only grows.
          const minutes = Effect.andThen(TestClock.adjust("1 minute"), sql`select 1`)
          yield* Effect.raceFirst(Deferred.await(removed), Effect.forever(minutes))
          assert.deepStrictEqual(yield* functions, [])
        }).pipe(Effect.provide(serviceOn(place, logger)), Effect.scoped)
      }
    }))

  it.live("a round copies all that is recorded, in steps", () =>
    Effect.gen(function*() {
      const from: Source.Place = { _tag: "Server", url: Redacted.make(yield* emptyDatabase) }
      const to: Source.Place = { _tag: "Server", url: Redacted.make(yield* emptyDatabase) }
      yield* prepare(from)
      const many = 2 * Changes.maxKeys + 1_000
      const change = SqlClient.SqlClient.use((sql) =>
        sql`insert into hubs (hub, pushed_documents, missed_entries, consecutive_misses)
          select 'many ' || n, 0, 0, 0 from generate_series(1, ${many}::int) n`
      ).pipe(Effect.provide(Source.layer(from)), Effect.scoped, Effect.orDie)
      yield* Effect.gen(function*() {
        const source = yield* SqlClient.SqlClient
        const target = Context.get(yield* Layer.build(Layer.fresh(Source.layer(to))), SqlClient.SqlClient)
        yield* on(target)(migrate)
        const tables = (yield* Catalog.readTables).filter(({ name }) => name === "hubs")
        yield* Changes.record("0badcafe", tables)
        yield* change
        const round = catchUp({ move: "0badcafe", source, target }, tables)
        assert.strictEqual(yield* round, many)
        assert.strictEqual(yield* round, 0)
        const copied = yield* target`select from hubs where hub like 'many %'`
        assert.lengthOf(copied, many)
      }).pipe(Effect.provide(Source.layer(from)), Effect.scoped)
    }))

  it.live("a move after a killed one records its own changes, and loses none of them", () =>
    Effect.gen(function*() {
      const from: Source.Place = { _tag: "Server", url: Redacted.make(yield* emptyDatabase) }
      const to: Source.Place = { _tag: "Server", url: Redacted.make(yield* emptyDatabase) }
      yield* prepare(from)
      yield* recordChanges(from)
      const change = Effect.scoped(Effect.provide(work(2), Source.layer(from)))
      const { lastChanges } = yield* Effect.scoped(Move.move(from, to, operator(Effect.orDie(change), () => undefined)))
      assert.isAbove(lastChanges, 0)
      assert.deepStrictEqual(yield* look(to), yield* look(from))
    }))

  it.live("a command that ends the record ends the move, and both databases are as before", () =>
    Effect.gen(function*() {
      const from: Source.Place = { _tag: "Server", url: Redacted.make(yield* emptyDatabase) }
      const to: Source.Place = { _tag: "Server", url: Redacted.make(yield* emptyDatabase) }
      yield* prepare(from)
      const before = yield* look(from)
      const end = Effect.scoped(Effect.provide(forget(), Source.layer(from)))
      const error = yield* Effect.flip(
        Effect.scoped(Move.move(from, to, operator(Effect.orDie(end), () => undefined)))
      )
      assert.strictEqual(error.reason._tag, "Changed")
      assert.match(
        error.message,
        /^The record of this move is gone: its connection was lost, or another command ended the move\./
      )
      assert.deepStrictEqual(yield* look(from), before)
      assert.deepStrictEqual(yield* startOn(from), [])
      yield* Effect.scoped(Effect.provide(Load.requireEmpty("the new database"), Source.layer(to)))
    }))

  it.live("a kill at the stop: starts and moves name the way, and a cancellation leads back from either setting", () =>
    Effect.gen(function*() {
      const from = { _tag: "Embedded", dataDir: yield* temporaryDirectory } as const
      const to: Source.Place = { _tag: "Server", url: Redacted.make(yield* emptyDatabase) }
      const idle = operator(Effect.void, () => undefined)
      yield* prepare(from)
      const before = yield* look(from)
      yield* recordChanges(from)
      const marked = (place: Source.Place, isMoved: boolean) =>
        Effect.scoped(Effect.provide(Changes.mark(isMoved, "The note."), Source.layer(place)))
      yield* marked(from, true)
      yield* Effect.scoped(Effect.provide(migrate, Source.layer(to)))
      yield* marked(to, false)
      assert.strictEqual((yield* Effect.flip(startOn(from))).message, "The note.")
      const again = yield* Effect.flip(Effect.scoped(Move.move(from, to, idle)))
      assert.match(again.message, /If that command was killed, run 'windhover move --cancel'/)
      assert.isTrue(yield* Move.isUnfinished(to))
      const elsewhere: Source.Place = { _tag: "Embedded", dataDir: yield* temporaryDirectory }
      const full = yield* Effect.flip(
        Effect.scoped(Effect.provide(Load.requireEmpty("The new database"), Source.layer(to)))
      )
      assert.match(full.message, /holds a part of the rows of a move/)
      assert.deepStrictEqual(yield* Move.cancel(elsewhere, to), [{ place: to, state: "empty" }])
      assert.deepStrictEqual(yield* Move.cancel(from, to), [{ place: from, state: "usable" }])
      assert.deepStrictEqual(yield* Move.cancel(from, to), [])
      assert.deepStrictEqual(yield* startOn(from), [])
      const kept = yield* look(from)
      assert.deepStrictEqual(kept.rows["tokens"], before.rows["tokens"])
      yield* Effect.scoped(Effect.provide(Load.requireEmpty("the new database"), Source.layer(to)))
    }))

  it.live("a cancellation of a complete move empties no database", () =>
    Effect.gen(function*() {
      const from: Source.Place = { _tag: "Server", url: Redacted.make(yield* emptyDatabase) }
      const to: Source.Place = { _tag: "Server", url: Redacted.make(yield* emptyDatabase) }
      yield* prepare(from)
      yield* Effect.scoped(Move.move(from, to, operator(Effect.void, () => undefined)))
      const moved = yield* look(to)
      const cleared = yield* Effect.flip(Effect.scoped(Effect.provide(clear, Source.layer(to))))
      assert.strictEqual(cleared._tag, "SqlError")
      assert.deepStrictEqual(yield* Move.cancel(from, to), [{ place: from, state: "usable" }])
      assert.deepStrictEqual(yield* look(to), moved)
    }))

  it.live("a directory that cannot take its database leaves the old one in use", () =>
    Effect.gen(function*() {
      const from: Source.Place = { _tag: "Server", url: Redacted.make(yield* emptyDatabase) }
      const to = { _tag: "Embedded", dataDir: yield* temporaryDirectory } as const
      yield* prepare(from)
      const before = yield* look(from)
      const obstacle = path.join(to.dataDir, "database")
      const error = yield* Effect.flip(
        Effect.scoped(Move.move(from, to, operator(Effect.void, () => fs.writeFileSync(obstacle, ""))))
      )
      assert.strictEqual(error.reason._tag, "Unusable")
      assert.include(error.message, obstacle)
      assert.deepStrictEqual(yield* look(from), before)
      assert.deepStrictEqual(yield* startOn(from), [])
      assert.deepStrictEqual(fs.readdirSync(to.dataDir).toSorted(), ["database", "lock"])
    }))

  it.live("waits for the last runner of a server, and copies what it writes at its stop", () =>
    Effect.gen(function*() {
      const from: Source.Place = { _tag: "Server", url: Redacted.make(yield* emptyDatabase) }
      const to: Source.Place = { _tag: "Server", url: Redacted.make(yield* emptyDatabase) }
      yield* prepare(from)
      const isConnected = yield* Deferred.make<void>()
      const lastWords = Effect.andThen(
        Deferred.succeed(isConnected, undefined),
        Effect.andThen(Effect.sleep("300 millis"), work(7))
      )
      const runner = Effect.scoped(Effect.provide(Effect.andThen(work(6), lastWords), layerOf(from)))
      const stop = Effect.gen(function*() {
        const fiber = yield* Effect.forkDetach(Effect.orDie(runner))
        yield* Effect.raceFirst(Deferred.await(isConnected), Fiber.join(fiber))
      })
      yield* Effect.scoped(Move.move(from, to, operator(stop, () => undefined)))
      const moved = yield* look(to)
      assert.isTrue(moved.rows["events"]?.some((row) => row.includes("event 7")))
      assert.deepStrictEqual(moved, yield* look(from))
    }))

  it.live("a row that is missing at the end takes the move back", () =>
    Effect.gen(function*() {
      const from: Source.Place = { _tag: "Server", url: Redacted.make(yield* emptyDatabase) }
      const to: Source.Place = { _tag: "Server", url: Redacted.make(yield* emptyDatabase) }
      yield* prepare(from)
      const before = yield* look(from)
      const lose = SqlClient.SqlClient.use((sql) => sql`delete from hubs where pushed_documents = 2`)
      const stop = Effect.scoped(Effect.provide(lose, Source.layer(to)))
      const error = yield* Effect.flip(
        Effect.scoped(Move.move(from, to, operator(Effect.orDie(stop), () => undefined)))
      )
      assert.strictEqual(
        error.message,
        "hubs has 4 rows in the old database and 3 in the new one. The old database stays in use; try again."
      )
      assert.deepStrictEqual(yield* look(from), before)
      yield* Effect.scoped(Effect.provide(Load.requireEmpty("the new database"), Source.layer(to)))
    }))
})
