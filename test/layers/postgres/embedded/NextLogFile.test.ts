import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { NextLogFile, nextName } from "#layers/postgres/embedded/NextLogFile.ts"
import { temporaryDirectory } from "#test/support/Databases.ts"

const first = "000000010000000000000001"
const second = "000000010000000000000002"
const half = 8 * 1024 * 1024

describe("NextLogFile", () => {
  const prepare = (directory: string, position: number) =>
    Effect.promise(() => new NextLogFile().prepareAfter(path.join(directory, first), position))

  it.effect("makes the next file with zeros once the current one is half full", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      yield* prepare(directory, half - 1)
      assert.deepStrictEqual(fs.readdirSync(directory), [])
      yield* prepare(directory, half)
      assert.deepStrictEqual(fs.readdirSync(directory), [second])
      const file = path.join(directory, second)
      assert.isTrue(fs.readFileSync(file).equals(Buffer.alloc(16 * 1024 * 1024)))
      assert.strictEqual(fs.statSync(file).mode & 0o777, 0o600)
    }))

  it.effect("leaves a file that PostgreSQL has made, before or meanwhile", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const file = path.join(directory, second)
      const preparing = new NextLogFile().prepareAfter(path.join(directory, first), half)
      fs.writeFileSync(file, "log")
      yield* Effect.promise(() => preparing)
      yield* prepare(directory, half)
      assert.strictEqual(fs.readFileSync(file, "utf8"), "log")
      assert.deepStrictEqual(fs.readdirSync(directory), [second])
    }))

  it.effect("makes it once for each file", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const files = new NextLogFile()
      const prepareNext = Effect.promise(() => files.prepareAfter(path.join(directory, first), half))
      yield* prepareNext
      fs.rmSync(path.join(directory, second))
      yield* prepareNext
      assert.deepStrictEqual(fs.readdirSync(directory), [])
    }))

  it.effect("leaves a missing directory to PostgreSQL", () =>
    Effect.gen(function*() {
      const directory = path.join(yield* temporaryDirectory, "missing")
      yield* prepare(directory, half)
      assert.isFalse(fs.existsSync(directory))
    }))

  it("counts to the next 4 GiB", () => {
    assert.strictEqual(nextName("00000001000000000000000F"), "000000010000000000000010")
    assert.strictEqual(nextName("0000000100000009000000FF"), "000000010000000A00000000")
  })
})
