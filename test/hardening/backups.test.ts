import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import * as fc from "fast-check"
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import * as zlib from "node:zlib"
import { firstLine, frameHeadBytes, type FrameKind, frameKinds, type Header } from "#layers/backup/BackupFormat.ts"
import * as BackupReader from "#layers/backup/BackupReader.ts"
import * as BackupWriter from "#layers/backup/BackupWriter.ts"
import * as Load from "#layers/backup/Load.ts"
import * as Restore from "#layers/backup/Restore.ts"
import * as Source from "#layers/backup/Source.ts"
import * as DataDirectory from "#layers/postgres/DataDirectory.ts"
import { migrate } from "#layers/sql/Migrations.ts"
import { emptyDatabase, engines, temporaryDirectory } from "#test/support/Databases.ts"

const hasServer = engines.some(({ available, name }) => name === "server" && available)

const header: Header = {
  schema: 1,
  windhover: "1.0.0",
  postgres: 18,
  createdAt: "2026-11-29T14:00:00.000Z",
  keys: [],
  tables: [{ name: "hubs", columns: ["hub"], rows: 3 }],
  sequences: []
}

/** A small backup of one table. */
const makeBackup = (file: string) =>
  Effect.scoped(Effect.gen(function*() {
    const writer = yield* BackupWriter.open(file)
    yield* writer.header(header)
    yield* writer.page({ table: "hubs", rows: ["(a)", "(b)"] })
    yield* writer.page({ table: "hubs", rows: ["(c)"] })
    return yield* writer.end
  }))

const backupBytes = Effect.gen(function*() {
  const file = path.join(yield* temporaryDirectory, "backup")
  yield* makeBackup(file)
  return fs.readFileSync(file)
})

/** Verifies bytes as a file: `whole`, or the tag of the error. */
const verify = (bytes: Uint8Array) =>
  Effect.gen(function*() {
    const file = path.join(yield* temporaryDirectory, "backup")
    fs.writeFileSync(file, bytes)
    return yield* Effect.match(BackupReader.verify(file), {
      onSuccess: () => "whole",
      onFailure: ({ reason }) => reason._tag
    })
  }).pipe(Effect.scoped)

/** A frame as an attacker writes it: with a valid checksum. */
const forge = (kind: FrameKind, position: number, content: Uint8Array, contentBytes = content.length) => {
  const payload = zlib.zstdCompressSync(content)
  const head = Buffer.alloc(frameHeadBytes)
  head[0] = frameKinds[kind]
  head.writeUInt32BE(contentBytes, 1)
  head.writeUInt32BE(payload.length, 5)
  const place = Buffer.alloc(8)
  place.writeBigUInt64BE(BigInt(position))
  createHash("sha256").update(place).update(head.subarray(0, 9)).update(payload).digest().copy(head, 9)
  return Buffer.concat([head, payload])
}

const forgeHeader = (changes: object) =>
  Buffer.concat([firstLine, forge("header", 0, Buffer.from(JSON.stringify({ ...header, ...changes })))])

describe("Backups of strangers and of bad disks", () => {
  it.effect("each changed byte and each cut is noticed", () =>
    Effect.gen(function*() {
      const bytes = yield* backupBytes
      assert.strictEqual(yield* verify(bytes), "whole")
      const changes = fc.tuple(fc.nat({ max: bytes.length - 1 }), fc.integer({ min: 1, max: 255 }), fc.boolean())
      for (const [at, change, isCut] of fc.sample(changes, 300)) {
        const copy = isCut
          ? bytes.subarray(0, at)
          : Uint8Array.from(bytes, (byte, index) => index === at ? byte ^ change : byte)
        assert.include(["Damaged", "Foreign", "Newer"], yield* verify(copy), `${at} ${change} ${isCut}`)
      }
      assert.strictEqual(yield* verify(Buffer.concat([bytes, Buffer.from("x")])), "Damaged")
    }).pipe(Effect.scoped))

  it.effect("a page that is missing, doubled or moved is noticed", () =>
    Effect.gen(function*() {
      const bytes = yield* backupBytes
      const starts: Array<number> = []
      for (let at = firstLine.length; at < bytes.length; at += frameHeadBytes + bytes.readUInt32BE(at + 5)) {
        starts.push(at)
      }
      const frames = starts.map((start, index) => bytes.subarray(start, starts[index + 1]))
      const [head, first, second, end] = frames
      assert.strictEqual(frames.length, 4)
      for (
        const order of [[head, second, first, end], [head, first, end], [head, first, first, second, end], [
          head,
          first,
          second
        ], [head]]
      ) {
        assert.strictEqual(
          yield* verify(Buffer.concat([
            firstLine,
            ...order.filter((frame) => frame !== undefined)
          ])),
          "Damaged"
        )
      }
    }).pipe(Effect.scoped))

  it.effect("other files and newer formats are named", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* verify(Buffer.from("PGDMP")), "Foreign")
      assert.strictEqual(yield* verify(Buffer.alloc(0)), "Foreign")
      assert.strictEqual(yield* verify(zlib.zstdCompressSync(Buffer.from("text"))), "Foreign")
      assert.strictEqual(yield* verify(Buffer.from("windhover-backup 2\n...")), "Newer")
    }))

  it.effect("a bomb is decompressed to its declared length at most", () =>
    Effect.gen(function*() {
      const bomb = Buffer.alloc(200_000_000)
      const before = process.memoryUsage().arrayBuffers
      assert.strictEqual(yield* verify(Buffer.concat([forgeHeader({}), forge("page", 1, bomb, 1_000_000)])), "Damaged")
      assert.strictEqual(yield* verify(Buffer.concat([forgeHeader({}), forge("page", 1, bomb)])), "Damaged")
      assert.strictEqual(yield* verify(Buffer.concat([firstLine, forge("header", 0, bomb)])), "Damaged")
      assert.isBelow(process.memoryUsage().arrayBuffers - before, 300_000_000)
    }))

  it.effect("headers and pages with impossible counts, names and lengths are refused", () =>
    Effect.gen(function*() {
      const page = (content: Buffer) => Buffer.concat([forgeHeader({}), forge("page", 1, content)])
      for (
        const bytes of [
          forgeHeader({ schema: -1 }),
          forgeHeader({ tables: [{ name: "", columns: [], rows: 0 }] }),
          forgeHeader({ tables: Array.from({ length: 201 }, () => ({ name: "a", columns: [], rows: 0 })) }),
          forgeHeader({ sequences: [{ name: "s", value: "1; drop table accounts", called: true }] }),
          page(Buffer.from([255, 1])),
          page(Buffer.from([4, ...Buffer.from("hubs"), 255, 255, 255, 255])),
          page(Buffer.from([4, ...Buffer.from("hubs"), 0, 0])),
          page(Buffer.from([5, ...Buffer.from("other"), 0, 0, 0, 0]))
        ]
      ) assert.strictEqual(yield* verify(bytes), "Damaged")
    }))

  it.live.skipIf(!hasServer)("nothing is changed by a file that cannot be restored", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const file = path.join(directory, "backup")
      const place: Source.Place = { _tag: "Server", url: Redacted.make(yield* emptyDatabase) }
      const refuse = (bytes: Uint8Array) => {
        fs.writeFileSync(file, bytes)
        return Effect.map(
          Effect.flip(Effect.scoped(Restore.restore(file, place, () => undefined))),
          (error) => error.reason._tag
        )
      }
      const bytes = yield* backupBytes
      const end = (start: Buffer) =>
        Buffer.concat([
          start,
          forge(
            "end",
            1,
            Buffer.from(JSON.stringify({
              pages: 0,
              rows: 0,
              sha256: createHash("sha256").update(start).digest("hex")
            }))
          )
        ])
      const withTable = (name: string, columns: ReadonlyArray<string>) =>
        end(forgeHeader({ tables: [{ name, columns, rows: 0 }] }))
      assert.strictEqual(yield* refuse(bytes.subarray(0, -1)), "Damaged")
      assert.strictEqual(yield* refuse(Buffer.from("text")), "Foreign")
      assert.strictEqual(yield* refuse(end(forgeHeader({ schema: 999, tables: [] }))), "Newer")
      assert.strictEqual(yield* refuse(withTable("pg_authid", [])), "Damaged")
      assert.strictEqual(yield* refuse(withTable("hubs", ["hub"])), "Damaged")
      assert.strictEqual(yield* refuse(bytes), "Damaged")
      yield* Load.requireEmpty("the database").pipe(Effect.provide(Source.layer(place)), Effect.scoped)

      yield* migrate.pipe(Effect.provide(Source.layer(place)), Effect.scoped)
      assert.strictEqual(yield* refuse(end(forgeHeader({ tables: [] }))), "NotEmpty")
    }).pipe(Effect.scoped))

  it.effect("a restore is refused over a database, and over a running service", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const file = path.join(directory, "backup")
      yield* makeBackup(file)
      const target = path.join(directory, "data")
      const error = Effect.flip(
        Effect.scoped(Restore.restore(file, { _tag: "Embedded", dataDir: target }, () => undefined))
      )
      fs.mkdirSync(path.join(target, "database"), { recursive: true })
      fs.writeFileSync(path.join(target, "database", "PG_VERSION"), "18\n")
      assert.match((yield* error).message, /data holds a database already, and nothing was changed/)
      fs.rmSync(path.join(target, "database"), { recursive: true })
      yield* Effect.scoped(Effect.andThen(
        DataDirectory.open(target),
        Effect.map(error, ({ message, reason }) => {
          assert.strictEqual(reason._tag, "Locked")
          assert.match(message, new RegExp(`process ${process.pid} on .* Stop it first`))
        })
      ))
    }).pipe(Effect.scoped))

  it.effect("a backup replaces no file, and follows no symbolic link", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const victim = path.join(directory, "victim")
      fs.writeFileSync(victim, "precious")
      const link = path.join(directory, "link")
      fs.symlinkSync(victim, link)
      const dangling = path.join(directory, "dangling")
      fs.symlinkSync(path.join(directory, "missing"), dangling)
      for (const file of [victim, link, dangling, directory]) {
        const error = yield* Effect.flip(makeBackup(file))
        assert.strictEqual(error.reason._tag, "Exists")
      }
      assert.strictEqual(fs.readFileSync(victim, "utf8"), "precious")
      assert.deepStrictEqual(fs.readdirSync(directory).toSorted(), ["dangling", "link", "victim"])
      assert.match((yield* Effect.flip(makeBackup(path.join(directory, "no", "backup")))).message, /ENOENT/)
    }).pipe(Effect.scoped))

  it.effect("a name that is taken during the backup is not replaced", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const file = path.join(directory, "backup")
      const error = yield* Effect.flip(Effect.scoped(Effect.gen(function*() {
        const writer = yield* BackupWriter.open(file)
        yield* writer.header({ ...header, tables: [] })
        fs.symlinkSync("/nowhere", file)
        yield* writer.end
      })))
      assert.strictEqual(error.reason._tag, "Unusable")
      assert.strictEqual(fs.readlinkSync(file), "/nowhere")
      assert.deepStrictEqual(fs.readdirSync(directory), ["backup"])
    }).pipe(Effect.scoped))

  it.effect("a backup is for its owner alone", () =>
    Effect.gen(function*() {
      const file = path.join(yield* temporaryDirectory, "backup")
      yield* makeBackup(file)
      assert.strictEqual(fs.statSync(file).mode & 0o777, 0o600)
    }).pipe(Effect.scoped))
})
