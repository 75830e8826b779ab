/**
 * Makes `src/layers/postgres/embedded/template.tar.zst`: a database cluster from initdb with the current schema, without superfluous parts.
 *
 * Run `bin/node scripts/embedded-template.ts` after a change of @electric-sql/pglite's version, and after a new migration.
 */
import { PGlite } from "@electric-sql/pglite"
import { pg_trgm } from "@electric-sql/pglite/contrib/pg_trgm"
import { Effect } from "effect"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import * as zlib from "node:zlib"
import * as EmbeddedPostgres from "#layers/postgres/EmbeddedPostgres.ts"
import { migrate } from "#layers/sql/Migrations.ts"

const target = fileURLToPath(import.meta.resolve("#layers/postgres/embedded/template.tar.zst"))
const work = fs.mkdtempSync(path.join(os.tmpdir(), "windhover-template-"))
const cluster = path.join(work, "database")

const open = () => PGlite.create({ dataDir: cluster, extensions: { pg_trgm } })

let database = await open()
// Drop two copies of the system catalogue that only `create database` reads. The cluster shrinks to a third, and no database remains whose
// transaction ids would never be frozen.
await database.query("update pg_database set datistemplate = false where datistemplate")
await database.query("drop database template0")
await database.query("drop database template1")
await database.close()

await Effect.runPromise(migrate.pipe(Effect.provide(EmbeddedPostgres.layer({ directory: work }))))

database = await open()
await database.query("vacuum (freeze, analyze)")
// The tables hold the log of initdb by now: start an almost empty segment, and omit the older ones.
await database.query("select pg_switch_wal()")
await database.query("checkpoint")
const { rows } = await database.query<{ segment: string }>("select pg_walfile_name(pg_current_wal_lsn()) as segment")
await database.close()
for (const file of fs.readdirSync(path.join(cluster, "pg_wal"), { withFileTypes: true })) {
  if (file.isFile() && file.name !== rows[0]?.segment) fs.rmSync(path.join(cluster, "pg_wal", file.name))
}

const archive = execFileSync(
  "tar",
  [
    "--create",
    "--format=ustar",
    "--sort=name",
    "--owner=0",
    "--group=0",
    "--numeric-owner",
    "--mtime=@0",
    "--directory",
    cluster,
    "."
  ],
  { maxBuffer: 2 ** 28 }
)
// The checksum finds damaged bytes that still unpack.
const packed = zlib.zstdCompressSync(archive, {
  params: { [zlib.constants.ZSTD_c_compressionLevel]: 22, [zlib.constants.ZSTD_c_checksumFlag]: 1 }
})
fs.writeFileSync(target, packed)
fs.rmSync(work, { recursive: true })
process.stdout.write(`${target}: ${packed.length} bytes of ${archive.length}\n`)
