import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { Duplex } from "node:stream"
import { PGlite } from "pglite-17"
import { pg_trgm } from "pglite-17/contrib/pg_trgm"
import * as BackupWriter from "#layers/backup/BackupWriter.ts"
import { dump } from "#layers/backup/Dump.ts"
import * as Restore from "#layers/backup/Restore.ts"
import * as DataDirectory from "#layers/postgres/DataDirectory.ts"
import * as EmbeddedPostgres from "#layers/postgres/EmbeddedPostgres.ts"
import { patchPgClient } from "#layers/postgres/PgClientPatches.ts"
import { migrate } from "#layers/sql/Migrations.ts"
import { temporaryDirectory } from "#test/support/Databases.ts"
import { contents, fillDatabase, restored } from "#test/support/FilledDatabase.ts"

/** A client of an engine of an older release, with one connection. The client writes whole messages. */
const connect = (database: PGlite) =>
  Effect.map(
    PgClient.make({
      stream: () => {
        const connection = new Duplex({
          read: () => undefined,
          write: (bytes: Buffer, _, done) => {
            connection.push(Buffer.from(database.execProtocolRawSync(bytes)))
            done()
          }
        })
        return connection
      },
      username: "postgres",
      database: "postgres",
      password: Redacted.make("password"), // the older engine asks for one, and takes any
      maxConnections: 1
    }),
    (client) => patchPgClient(client, "pglite")
  )

/** The embedded engine of an older release on a directory. */
const layerOlder = (cluster: string) =>
  PgClient.layerFrom(Effect.gen(function*() {
    const database = yield* Effect.acquireRelease(
      Effect.promise(() => PGlite.create(cluster, { extensions: { pg_trgm } })),
      (database) => Effect.promise(() => database.close())
    )
    return yield* connect(database)
  }))

describe("The directory of a release with PostgreSQL 17", () => {
  it.live("is refused with the way, and its backup restores", () =>
    Effect.gen(function*() {
      const old = yield* temporaryDirectory
      const file = path.join(yield* temporaryDirectory, "backup")
      const before = yield* Effect.gen(function*() {
        yield* migrate
        yield* fillDatabase(3)
        const writer = yield* BackupWriter.open(file)
        const header = yield* dump(writer, () => undefined)
        assert.strictEqual(header.postgres, 17)
        yield* writer.end
        return yield* contents
      }).pipe(Effect.provide(layerOlder(path.join(old, "database"))), Effect.scoped)

      const refusal = yield* Effect.flip(Effect.scoped(DataDirectory.open(old)))
      assert.strictEqual(
        refusal.message,
        `${old}/database was made by PostgreSQL 17; this Windhover embeds 18, and changes nothing there. `
          + "Run 'windhover backup FILE' with the version of Windhover that made it, move this directory away, "
          + "and run 'windhover restore FILE' with this version."
      )
      fs.renameSync(path.join(old, "database"), path.join(old, "database-17"))
      yield* Effect.scoped(Restore.restore(file, { _tag: "Embedded", dataDir: old }, () => undefined))
      const after = yield* contents.pipe(Effect.provide(EmbeddedPostgres.layer({ directory: old })), Effect.scoped)
      assert.deepStrictEqual(after, restored(before))
    }))
})
