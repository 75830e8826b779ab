import { assert, describe, it, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Logger, Redacted, References } from "effect"
import { SqlClient } from "effect/sql"
import * as EmbeddedPostgres from "#layers/postgres/EmbeddedPostgres.ts"
import { makeMigrate, migrate, migrations } from "#layers/sql/Migrations.ts"
import * as Postgres from "#layers/postgres/Postgres.ts"
import { engines, serverDatabase, temporaryDirectory } from "#test/support/Databases.ts"

const tables = SqlClient.SqlClient.use((sql) =>
  Effect.map(
    sql<{ name: string }>`select tablename::text as name from pg_tables where schemaname = 'public' order by 1`,
    (rows) => rows.map((row) => row.name)
  )
)

/** What the schema is made of, a line each: columns, constraints, indexes, functions, triggers. */
const definitions = SqlClient.SqlClient.use((sql) =>
  Effect.map(
    sql<{ line: string }>`
      with own as (
        select oid, relname from pg_class c where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v')
      )
      select format('%s.%s %s %s %s %s %s', relname, attname, format_type(atttypid, atttypmod), attnotnull, attidentity, attstorage,
        pg_get_expr(adbin, adrelid)) as line
      from own join pg_attribute on attrelid = oid and attnum > 0 and not attisdropped
        left join pg_attrdef on adrelid = attrelid and adnum = attnum
      union all
      select format('%s %s %s', relname, conname, pg_get_constraintdef(pg_constraint.oid)) from own join pg_constraint on conrelid = own.oid
      union all
      select pg_get_indexdef(indexrelid) from own join pg_index on indrelid = oid
      union all
      select pg_get_triggerdef(pg_trigger.oid) from own join pg_trigger on tgrelid = own.oid where not tgisinternal
      union all
      select format('%s %s %s', relname, attname, attstattarget) from own join pg_attribute on attrelid = oid where attstattarget > 0
      union all
      select format('%s %s', relname, reloptions) from own join pg_class using (oid, relname)
      union all
      select pg_get_functiondef(oid) from pg_proc where pronamespace = 'public'::regnamespace and prokind = 'f'
        and not exists (select from pg_depend where objid = pg_proc.oid and deptype = 'e')
      union all
      select format('%s %s', migration_id, name) from windhover_migrations
      order by 1`,
    (rows) => rows.map(({ line }) => line)
  )
)

const empty = SqlClient.SqlClient.use((sql) =>
  Effect.andThen(sql`drop schema public cascade`, sql`create schema public`)
)

const all = ["0001_schema"]

/** A planted second migration, as the next release has one. */
const next = {
  number: migrations.length + 1,
  name: "planted",
  statements: [`alter table accounts add column note text`, `update accounts set note = 'kept' where login = 'ann'`]
}
const migrateNext = makeMigrate([...migrations, next])

const schema = [
  "accounts",
  "bounces",
  "credit_ledger",
  "deliveries",
  "delivery_log",
  "delivery_recordings",
  "document_versions",
  "encryption_keys",
  "entries",
  "events",
  "host_pauses",
  "hub_subscriptions",
  "hubs",
  "notifications",
  "pings",
  "replays",
  "resource_state",
  "resources",
  "runners",
  "schedule",
  "sessions",
  "strangers_bytes",
  "subscription_ends",
  "subscriptions",
  "tokens",
  "verification_pacing",
  "verifications",
  "windhover_migrations"
]

for (const engine of engines) {
  describe.skipIf(!engine.available)(`Migrations: ${engine.name}`, () => {
    layer(engine.layer, { excludeTestServices: true })((it) => {
      it.effect("create the schema once, and nothing the second time", () =>
        Effect.gen(function*() {
          yield* empty
          assert.deepStrictEqual(yield* migrate, all)
          assert.deepStrictEqual(yield* tables, schema)
          assert.deepStrictEqual(yield* migrate, [])
        }))

      it.effect("let an analyze of entries and of notifications sample 300 × 25 rows, not 300 × 100", () =>
        Effect.gen(function*() {
          const sql = yield* SqlClient.SqlClient
          yield* empty
          yield* migrate
          // The columns of an index take the sample of their table, apart from expressions, whose number in the table is 0.
          const targets = yield* sql<{ target: number | null }>`
            with own as (select oid from pg_class where oid in ('entries'::regclass, 'notifications'::regclass))
            select attstattarget::int4 as target from own join pg_attribute on attrelid = oid where attnum > 0
            union all
            select attstattarget::int4 from own join pg_index on indrelid = oid join pg_attribute on attrelid = indexrelid
            where indkey[attnum - 1] = 0`
          assert.deepStrictEqual(targets.map(({ target }) => target), Array.from({ length: 17 }, () => 25))
        }))

      it.effect("run a missing migration on a database with data", () =>
        Effect.gen(function*() {
          const sql = yield* SqlClient.SqlClient
          yield* empty
          yield* migrate
          yield* sql`insert into accounts (login, password_hash, created_at) values ('ann', '', now())`
          assert.deepStrictEqual(yield* migrateNext, ["0002_planted"])
          assert.deepStrictEqual(yield* sql`select login, note from accounts order by id`, [
            { login: "(hub)", note: null },
            { login: "ann", note: "kept" }
          ])
          assert.deepStrictEqual(yield* migrateNext, [])
        }))

      it.effect("run once when several runners start together", () =>
        Effect.gen(function*() {
          yield* empty
          const runs = yield* Effect.all(Array.from({ length: 5 }, () => migrate), { concurrency: "unbounded" })
          assert.deepStrictEqual(runs.flat(), all)
          assert.deepStrictEqual(yield* tables, schema)
        }))

      it.effect("leave the database unchanged after a failure", () =>
        Effect.gen(function*() {
          const sql = yield* SqlClient.SqlClient
          yield* empty
          yield* sql`create table entries (mine int)`
          const error = yield* Effect.flip(migrate)
          assert.strictEqual(error.reason._tag, "Migration")
          assert.include(error.message, `relation "entries" already exists`)
          assert.deepStrictEqual(yield* tables, ["entries"])
          yield* sql`drop table entries`
          assert.deepStrictEqual(yield* migrate, all)
        }))

      it.effect("leave the database unchanged when the service stops in the middle, and run at the next start", () =>
        Effect.gen(function*() {
          yield* empty
          const middle = yield* Deferred.make<void>()
          const watching = Logger.make(({ fiber }) => {
            const { migration_id: number } = fiber.getRef(References.CurrentLogAnnotations)
            if (String(number) === String(next.number)) Deferred.doneUnsafe(middle, Effect.void)
          })
          const running = yield* Effect.forkChild(migrateNext.pipe(
            Effect.provideService(References.MinimumLogLevel, "Debug"),
            Effect.provide(Logger.layer([watching]))
          ))
          yield* Deferred.await(middle)
          yield* Fiber.interrupt(running)
          assert.deepStrictEqual(yield* tables, [])
          assert.deepStrictEqual(yield* migrateNext, [...all, "0002_planted"])
          assert.deepStrictEqual(yield* tables, schema)
        }))

      it.effect("refuse a database that a newer program has changed", () =>
        Effect.gen(function*() {
          yield* empty
          yield* migrateNext
          const error = yield* Effect.flip(migrate)
          assert.strictEqual(error.reason._tag, "Newer")
          assert.include(error.message, "0002_planted")
          yield* empty
        }))
    })
  })
}

describe("Migrations: the template of the embedded database", () => {
  it.live("are part of the template (otherwise run: bin/node scripts/embedded-template.ts)", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      yield* Effect.gen(function*() {
        assert.deepStrictEqual(yield* migrate, [])
        const unpacked = yield* definitions
        yield* empty
        assert.deepStrictEqual(yield* migrate, all)
        const migrated = yield* definitions
        assert.isAbove(migrated.length, 100)
        assert.deepStrictEqual(unpacked, migrated)
      }).pipe(Effect.provide(EmbeddedPostgres.layer({ directory })))
    }))
})

describe.skipIf(!engines.every((engine) => engine.available))("Migrations: a managed server", () => {
  it.live("tell the administrator the statement when the user may not install pg_trgm", () =>
    Effect.gen(function*() {
      const url = new URL(yield* serverDatabase)
      const run = <A, E>(url: URL, effect: Effect.Effect<A, E, SqlClient.SqlClient>) =>
        effect.pipe(Effect.provide(Postgres.layer({ url: Redacted.make(url.href) })))
      const user = `plain_${url.pathname.slice(1)}`
      yield* run(
        url,
        Effect.gen(function*() {
          const sql = yield* SqlClient.SqlClient
          yield* empty
          yield* sql.unsafe(`create role ${user} login password 'plain'`)
          yield* sql.unsafe(`grant all on schema public to ${user}`)
        })
      )
      const plain = new URL(url)
      plain.username = user
      plain.password = "plain"
      const error = yield* Effect.flip(run(plain, migrate))
      assert.strictEqual(error.reason._tag, "NoTrigrams")
      assert.include(error.message, "create extension pg_trgm")
      yield* run(url, SqlClient.SqlClient.use((sql) => sql`create extension pg_trgm`))
      assert.deepStrictEqual(yield* run(plain, migrate), all)
      yield* run(url, SqlClient.SqlClient.use((sql) => sql.unsafe(`drop owned by ${user}; drop role ${user}`))).pipe(
        Effect.ignore
      )
    }))
})
