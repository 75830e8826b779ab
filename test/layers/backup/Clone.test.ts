import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Clone from "#layers/backup/Clone.ts"
import * as BackupWriter from "#layers/backup/BackupWriter.ts"
import { dump } from "#layers/backup/Dump.ts"
import * as Restore from "#layers/backup/Restore.ts"
import * as Source from "#layers/backup/Source.ts"
import * as DatabaseSocket from "#layers/postgres/DatabaseSocket.ts"
import * as EmbeddedPostgres from "#layers/postgres/EmbeddedPostgres.ts"
import { migrate } from "#layers/sql/Migrations.ts"
import { temporaryDirectory } from "#test/support/Databases.ts"

/** Changes a row, and adds a row with as many bytes to another table, in one transaction. Returns the number of the last one. */
const writeOn = (acknowledged: { last: number }) =>
  SqlClient.SqlClient.use((sql) =>
    sql.withTransaction(Effect.gen(function*() {
      const n = acknowledged.last + 1
      yield* sql`update host_pauses set host = ${`host ${n}`} where partition = 1`
      yield* sql`insert into hubs (hub, pushed_documents, missed_entries, consecutive_misses)
        values (${`hub ${n} ${"x".repeat(500)}`}, ${BigInt(n)}, 0, 0)`
      return n
    })).pipe(Effect.map((n) => void (acknowledged.last = n)))
  )

describe("Clone", () => {
  it.live("a backup of a running service holds one state, with all that was acknowledged before", () =>
    Effect.gen(function*() {
      const dataDir = yield* temporaryDirectory
      const file = path.join(yield* temporaryDirectory, "backup")
      const acknowledged = { last: 0 }
      const before = yield* Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        yield* migrate
        yield* sql`insert into host_pauses values (1, 'host 0', 'now', 'now')`
        const writing = yield* Effect.forkScoped(Effect.forever(writeOn(acknowledged)))
        yield* Effect.repeat(Effect.sleep("20 millis"), {
          until: () => acknowledged.last >= 100,
          schedule: Schedule.forever
        })
        const writer = yield* BackupWriter.open(file)
        const before = acknowledged.last
        yield* dump(writer, () => undefined).pipe(Effect.provide(Source.layer({ _tag: "Embedded", dataDir })))
        yield* writer.end
        assert.isAbove(acknowledged.last, before, "the service writes during the backup")
        yield* Fiber.interrupt(writing)
        assert.deepStrictEqual(fs.readdirSync(path.join(dataDir, "clone")), ["lock"])
        return before
      }).pipe(Effect.provide(EmbeddedPostgres.layer({ directory: dataDir })), Effect.scoped)
      assert.isFalse(yield* DatabaseSocket.isServed(dataDir))

      const target = yield* temporaryDirectory
      yield* Effect.scoped(Restore.restore(file, { _tag: "Embedded", dataDir: target }, () => undefined))
      const restored = yield* SqlClient.SqlClient.use((sql) =>
        Effect.map(
          sql<{ host: string; count: number; last: number }>`
            select host, (select count(*)::int from hubs) as count, (select max(pushed_documents)::int from hubs) as last from host_pauses`,
          ([row]) => row
        )
      ).pipe(Effect.provide(EmbeddedPostgres.layer({ directory: target })), Effect.scoped)
      assert.isAtLeast(restored?.last ?? 0, before)
      assert.deepStrictEqual(restored, {
        host: `host ${restored?.last}`,
        count: restored?.last ?? 0,
        last: restored?.last ?? 0
      })
    }))

  it.live("a copy leaves out the files that later log will fill", () =>
    Effect.gen(function*() {
      const dataDir = yield* temporaryDirectory
      const log = path.join(dataDir, "database", "pg_wal")
      yield* Effect.gen(function*() {
        yield* migrate
        fs.writeFileSync(path.join(log, "xlogtemp.windhover"), "draft")
        fs.writeFileSync(path.join(log, "xlogtemp.windhover.000000010000000000000001"), "old")
        const clone = yield* Clone.make(dataDir)
        const copied = fs.readdirSync(path.join(clone, "pg_wal"))
        assert.isAbove(copied.filter((name) => /^[0-9A-F]{24}$/.test(name)).length, 0)
        assert.deepStrictEqual(copied.filter((name) => name.startsWith("xlogtemp")), [])
      }).pipe(Effect.provide(EmbeddedPostgres.layer({ directory: dataDir })), Effect.scoped)
    }))

  it.live("the socket is for the owner, and a second backup at the same time is refused", () =>
    Effect.gen(function*() {
      const dataDir = yield* temporaryDirectory
      yield* Effect.gen(function*() {
        assert.strictEqual(fs.statSync(path.join(dataDir, "database.sock")).mode & 0o777, 0o600)
        const error = yield* Effect.flip(
          Effect.provide(
            Effect.scoped(Effect.provide(Effect.void, Source.layer({ _tag: "Embedded", dataDir }))),
            Source.layer({ _tag: "Embedded", dataDir })
          )
        )
        assert.strictEqual(error._tag === "BackupError" && error.reason._tag, "Running")
      }).pipe(Effect.provide(EmbeddedPostgres.layer({ directory: dataDir })), Effect.scoped)
    }))
})
