import { assert, describe, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { explainStart } from "#layers/postgres/EmbeddedPostgres.ts"
import { DamagedTemplate, unpackTemplate } from "#layers/postgres/embedded/Template.ts"
import { temporaryDirectory } from "#test/support/Databases.ts"

const unpacked = Effect.fnUntraced(function*(target: string) {
  yield* Effect.promise(() => unpackTemplate(target))
  return fs.readFileSync(path.join(target, "PG_VERSION"), "utf8")
})

describe("Template", () => {
  it.effect("becomes a cluster readable only by its user", () =>
    Effect.gen(function*() {
      const target = path.join(yield* temporaryDirectory, "database")
      assert.strictEqual(yield* unpacked(target), "18\n")
      assert.strictEqual(fs.statSync(target).mode & 0o777, 0o700)
      assert.strictEqual(fs.statSync(path.join(target, "PG_VERSION")).mode & 0o777, 0o600)
    }))

  it.effect("is unpacked again after a partial unpacking", () =>
    Effect.gen(function*() {
      const target = path.join(yield* temporaryDirectory, "database")
      fs.mkdirSync(`${target}.partial`)
      fs.writeFileSync(path.join(`${target}.partial`, "PG_VERSION"), "1")
      assert.strictEqual(yield* unpacked(target), "18\n")
      assert.isFalse(fs.existsSync(`${target}.partial`))
    }))

  it.effect("reports a damaged archive, and becomes a cluster from an intact one", () =>
    Effect.gen(function*() {
      const target = path.join(yield* temporaryDirectory, "database")
      const { readFile } = fs.promises
      const archive = yield* Effect.promise(() =>
        readFile(fileURLToPath(import.meta.resolve("#layers/postgres/embedded/template.tar.zst")))
      )
      const flipped = Buffer.from(archive)
      flipped.writeUInt32LE(0xdeadbeef, archive.length >> 1)
      for (
        const damaged of [
          Buffer.alloc(0),
          Buffer.from("version https://git-lfs"),
          archive.subarray(0, 100_000),
          flipped
        ]
      ) {
        const read = vi.spyOn(fs.promises, "readFile").mockResolvedValue(damaged)
        const { cause } = yield* Effect.flip(Effect.tryPromise(() => unpackTemplate(target))).pipe(
          Effect.ensuring(Effect.sync(() => read.mockRestore()))
        )
        assert.instanceOf(cause, DamagedTemplate)
        const error = explainStart(target, String(cause)) // as it comes out of the thread
        assert.strictEqual(error.reason._tag, "Damaged")
        assert.match(error.message, /^The archive \S+template\.tar\.zst is damaged \(.+\)\. Check Windhover out anew/)
        assert.isFalse(fs.existsSync(target))
      }
      assert.strictEqual(yield* unpacked(target), "18\n")
    }))

  it.effect("leaves no cluster on a full disk, and a complete one after space was freed", () =>
    Effect.gen(function*() {
      const target = path.join(yield* temporaryDirectory, "database")
      const full = Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" })
      const open = vi.spyOn(fs.promises, "open").mockRejectedValue(full)
      const error = yield* Effect.flip(Effect.tryPromise(() => unpackTemplate(target))).pipe(
        Effect.ensuring(Effect.sync(() => open.mockRestore()))
      )
      assert.strictEqual(error.cause, full)
      assert.strictEqual(explainStart(target, String(full)).reason._tag, "Full")
      assert.isFalse(fs.existsSync(target))
      assert.strictEqual(yield* unpacked(target), "18\n")
    }))
})
