import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import * as fs from "node:fs"
import * as path from "node:path"
import * as BackupReader from "#layers/backup/BackupReader.ts"
import * as BackupWriter from "#layers/backup/BackupWriter.ts"
import * as Catalog from "#layers/backup/Catalog.ts"
import { dump } from "#layers/backup/Dump.ts"
import * as Load from "#layers/backup/Load.ts"
import * as Restore from "#layers/backup/Restore.ts"
import * as Source from "#layers/backup/Source.ts"
import * as EmbeddedPostgres from "#layers/postgres/EmbeddedPostgres.ts"
import * as Postgres from "#layers/postgres/Postgres.ts"
import { migrate, migrations } from "#layers/sql/Migrations.ts"
import { emptyDatabase, engines, serverDatabase, temporaryDirectory } from "#test/support/Databases.ts"
import { contents, fillDatabase, restored } from "#test/support/FilledDatabase.ts"

const hasServer = engines.some(({ available, name }) => name === "server" && available)

const noProgress = () => undefined

/** Writes a backup of the database of the context. */
const write = (file: string) =>
  Effect.scoped(Effect.gen(function*() {
    const writer = yield* BackupWriter.open(file)
    const header = yield* dump(writer, noProgress)
    yield* writer.end
    return header
  }))

/** Fills a database that lasts for the scope. Writes its backup, and returns its contents. */
const makeFilled = (place: Source.Place, file: string, fill: Effect.Effect<void, unknown, SqlClient.SqlClient>) =>
  Effect.gen(function*() {
    yield* migrate
    yield* fill
    yield* write(file)
    return yield* contents
  }).pipe(Effect.provide(layerOf(place)), Effect.scoped)

const layerOf = (place: Source.Place) =>
  place._tag === "Embedded" ? EmbeddedPostgres.layer({ directory: place.dataDir }) : Postgres.layer({ url: place.url })

const newDirectory = Effect.map(temporaryDirectory, (dataDir): Source.Place => ({ _tag: "Embedded", dataDir }))
const newServer = Effect.map(emptyDatabase, (url): Source.Place => ({ _tag: "Server", url: Redacted.make(url) }))

const places = [
  { name: "embedded to server", available: hasServer, from: newDirectory, to: newServer },
  { name: "server to embedded", available: hasServer, from: newServer, to: newDirectory }
]

/** Definitions of indexes and constraints, and samples of an analyze, a line each. */
const definitions = SqlClient.SqlClient.use((sql) =>
  Effect.map(
    sql<{ line: string }>`
      select pg_get_indexdef(indexrelid) as line from pg_index join pg_class c on c.oid = indrelid
      where c.relnamespace = current_schema()::regnamespace
      union all
      select format('%s %s %s', conname, pg_get_constraintdef(oid), convalidated) from pg_constraint
      where connamespace = current_schema()::regnamespace and contype <> 'n'
      union all
      select format('%s %s %s', relname, attnum, attstattarget) from pg_attribute join pg_class c on c.oid = attrelid
      where c.relnamespace = current_schema()::regnamespace and attstattarget > 0`,
    (rows) => rows.map(({ line }) => line).toSorted()
  )
)

describe("Backup", () => {
  for (const { available, from, name, to } of places) {
    it.live.skipIf(!available)(
      `${name}: each row, sequence, index and constraint is there after a restore, and no session`,
      () =>
        Effect.gen(function*() {
          const file = path.join(yield* temporaryDirectory, "backup")
          const source = yield* from
          const before = yield* makeFilled(source, file, fillDatabase(6))
          const target = yield* to
          const header = yield* Effect.scoped(Restore.restore(file, target, noProgress))
          assert.strictEqual(header.tables.length, Catalog.tableNames.length)
          const schema = yield* Effect.scoped(Effect.provide(definitions, layerOf(source)))
          yield* Effect.gen(function*() {
            assert.strictEqual(before.rows["sessions"]?.length, 6)
            assert.deepStrictEqual(yield* contents, restored(before))
            assert.deepStrictEqual(yield* definitions, schema)
            assert.deepStrictEqual(yield* migrate, [])
            const sql = yield* SqlClient.SqlClient
            yield* sql`delete from deliveries`
            const [next] = yield* sql`
            insert into accounts (login, password_hash, created_at) values ('next', '', now()) returning id`
            assert.deepStrictEqual(next, { id: 500 })
          }).pipe(Effect.provide(layerOf(target)), Effect.scoped)
        })
    )
  }

  it("names all tables of the migrations", () => {
    const created = migrations.flatMap(({ statements }) => statements).flatMap((statement) =>
      /^\s*create table (\w+)/.exec(statement)?.[1] ?? []
    )
    assert.deepStrictEqual([...Catalog.tableNames].toSorted(), created.toSorted())
  })

  it.live.skipIf(!hasServer)(
    "large rows have pages of their own, and many rows several pages",
    () =>
      Effect.gen(function*() {
        const file = path.join(yield* temporaryDirectory, "backup")
        const before = yield* makeFilled(
          yield* newServer,
          file,
          SqlClient.SqlClient.use((sql) =>
            Effect.andThen(
              sql`insert into host_pauses select 1, 'host ' || n, 'now', 'now' from generate_series(1, 9000) n`,
              sql`insert into notifications (resource_id, kind, status, document, created_at, sequence)
              select n, 1, '{}', decode(repeat('5c', 3000000 - n), 'hex'), now(), 1 from generate_series(1, 4) n`
            )
          )
        )
        const pages: Record<string, Array<number>> = {}
        yield* Effect.scoped(Effect.gen(function*() {
          const reader = yield* BackupReader.open(file)
          for (let page = yield* reader.next; page !== undefined; page = yield* reader.next) {
            ;(pages[page.table] ??= []).push(page.rows.length)
          }
        }))
        assert.deepStrictEqual(pages["host_pauses"], [4000, 4000, 1000])
        assert.deepStrictEqual(pages["notifications"], [1, 1, 1, 1])
        const target = yield* newServer
        yield* Effect.scoped(Restore.restore(file, target, noProgress))
        assert.deepStrictEqual(yield* Effect.scoped(Effect.provide(contents, layerOf(target))), before)
      })
  )

  it.live.skipIf(!hasServer)(
    "a backup of an older schema is migrated after its rows are there",
    () =>
      Effect.gen(function*() {
        const file = path.join(yield* temporaryDirectory, "backup")
        yield* makeFilled(yield* newServer, file, fillDatabase(2))
        const next = {
          number: migrations.length + 1,
          name: "planted",
          statements: [
            `alter table accounts add column note text`,
            `update accounts set note = 'migrated' where id = 2`
          ]
        }
        const notes = yield* Effect.gen(function*() {
          yield* Load.restore(yield* BackupReader.open(file), noProgress, [...migrations, next])
          return yield* SqlClient.SqlClient.use((sql) => sql`select id, note from accounts order by id`)
        }).pipe(Effect.provide(Source.layerServer(Redacted.make(yield* emptyDatabase))), Effect.scoped)
        assert.deepStrictEqual(notes, [{ id: 0, note: null }, { id: 1, note: null }, { id: 2, note: "migrated" }])
      })
  )

  it.live.skipIf(!hasServer)(
    "a database without the schema has no backup, and the file does not appear",
    () =>
      Effect.gen(function*() {
        const directory = yield* temporaryDirectory
        const file = path.join(directory, "backup")
        const error = yield* Effect.flip(write(file)).pipe(
          Effect.provide(Source.layerServer(Redacted.make(yield* emptyDatabase))),
          Effect.scoped
        )
        assert.strictEqual(error._tag === "BackupError" && error.reason._tag, "Foreign")
        assert.deepStrictEqual(fs.readdirSync(directory), [])
      })
  )

  it.live.skipIf(!hasServer)("a server's backup shows one moment while rows change", () =>
    Effect.gen(function*() {
      const url = yield* serverDatabase
      const file = path.join(yield* temporaryDirectory, "backup")
      yield* Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const writer = yield* BackupWriter.open(file)
        const pair = (n: number) =>
          sql.withTransaction(Effect.andThen(
            sql`insert into hubs (hub, pushed_documents, missed_entries, consecutive_misses) values (${`hub ${n}`}, 0, 0, 0)`,
            sql`insert into host_pauses values (1, ${`host ${n}`}, 'now', 'now')`
          ))
        let n = 0
        yield* pair(n++)
        const changing: BackupWriter.BackupWriter = {
          ...writer,
          page: (page) => Effect.andThen(Effect.orDie(pair(n++)), writer.page(page))
        }
        const header = yield* dump(changing, noProgress).pipe(
          Effect.provide(Source.layer({ _tag: "Server", url: Redacted.make(url) }))
        )
        yield* writer.end
        const rowsOf = (name: string) => header.tables.find((table) => table.name === name)?.rows
        assert.strictEqual(rowsOf("hubs"), 1)
        assert.strictEqual(rowsOf("host_pauses"), 1)
        assert.isAbove(n, 2)
        yield* BackupReader.verify(file)
      }).pipe(Effect.provide(Postgres.layer({ url: Redacted.make(url) })), Effect.scoped)
    }))
})
