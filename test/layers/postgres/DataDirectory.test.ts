import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as DataDirectory from "#layers/postgres/DataDirectory.ts"
import { temporaryDirectory } from "#test/support/Databases.ts"

const refusal = (directory: string) => Effect.flip(Effect.scoped(DataDirectory.open(directory)))

/** Root may do everything: so it is somebody else for a moment. */
const asOrdinaryUser = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  process.getuid?.() === 0
    ? Effect.acquireUseRelease(
      Effect.sync(() => process.seteuid?.("nobody")),
      () => effect,
      () => Effect.sync(() => process.seteuid?.(0))
    )
    : effect

/** Holds the lock of a directory in a process of its own, until it is killed; its garbage has been collected. */
const holder = (directory: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const script = `
        import { Effect } from "effect"
        import * as DataDirectory from "#layers/postgres/DataDirectory.ts"
        const hold = Effect.andThen(DataDirectory.open(${
        JSON.stringify(directory)
      }), Effect.sync(() => setTimeout(collect, 1)))
        const collect = () => {
          for (let i = 0; i < 3; i++) gc()
          setTimeout(() => process.stdout.write("held"), 1)
        }
        Effect.runFork(Effect.scoped(Effect.andThen(hold, Effect.never)))
        setInterval(() => {}, 1000)`
      const child = spawn(process.execPath, ["--expose-gc", "--input-type=module-typescript", "-e", script], {
        stdio: ["ignore", "pipe", "inherit"]
      })
      await once(child.stdout, "data")
      return child
    }),
    (child) => Effect.sync(() => child.kill("SIGKILL"))
  )

describe("DataDirectory", () => {
  it.effect("creates a directory readable only by its user, and returns the path of the cluster", () =>
    Effect.gen(function*() {
      const directory = path.join(yield* temporaryDirectory, "a", "b")
      const cluster = yield* Effect.scoped(DataDirectory.open(directory))
      assert.strictEqual(cluster, path.join(fs.realpathSync(directory), "database"))
      assert.strictEqual(fs.statSync(directory).mode & 0o777, 0o700)
    }))

  it.effect("opens only once in a process", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      yield* DataDirectory.open(directory)
      const error = yield* refusal(directory)
      assert.strictEqual(error.reason._tag, "Locked")
      assert.include(error.message, fs.realpathSync(directory))
      assert.include(error.message, "WINDHOVER_DATA_DIR")
    }))

  it.live("rejects a second process, by any path, until the first process has ended in any way", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const alias = path.join(yield* temporaryDirectory, "alias")
      fs.symlinkSync(directory, alias)
      const child = yield* holder(directory)
      const error = yield* refusal(alias)
      assert.strictEqual(error.reason._tag, "Locked")
      assert.include(error.message, fs.realpathSync(directory))
      const seconds = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`
      assert.match(
        error.message,
        new RegExp(
          `process ${child.pid} on "${os.hostname()}", running since ${seconds}. Stop it first \\(kill ${child.pid};`
        )
      )
      const gone = once(child, "exit")
      child.kill("SIGKILL")
      yield* Effect.promise(() => gone)
      assert.strictEqual(yield* DataDirectory.open(alias), path.join(fs.realpathSync(directory), "database"))
    }))

  it.effect("names no killed process as the holder", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      yield* DataDirectory.open(directory)
      const dead = spawnSync("true").pid
      const words = [
        "",
        "{",
        "null",
        "[]",
        `{"pid":"1","host":"h","since":"s"}`,
        JSON.stringify({ pid: dead, host: os.hostname(), since: "2026-01-01T00:00:00Z" })
      ]
      for (const word of words) {
        fs.writeFileSync(path.join(directory, "holder"), word)
        assert.include(
          (yield* refusal(directory)).message,
          ": probably a Windhover that is still running. Stop it first, or"
        )
      }
    }))

  it.effect("opens and closes when the holder file can be neither written nor removed", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      fs.mkdirSync(path.join(directory, "holder"))
      const opened = Effect.scoped(DataDirectory.open(directory))
      assert.strictEqual(yield* opened, path.join(fs.realpathSync(directory), "database"))
      assert.strictEqual(yield* opened, path.join(fs.realpathSync(directory), "database"))
    }))

  it.effect("names a holder on another machine without a kill command", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      yield* DataDirectory.open(directory)
      const there = { pid: process.pid, host: "another\nhost", since: "2026-01-01T00:00:00Z" }
      fs.writeFileSync(path.join(directory, "holder"), JSON.stringify(there))
      assert.include(
        (yield* refusal(directory)).message,
        `process ${process.pid} on "another\\nhost", running since 2026-01-01T00:00:00Z. Stop it first, or`
      )
    }))

  it.effect("removes the holder file when it closes, and replaces the file of a killed process", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      fs.writeFileSync(path.join(directory, "holder"), `{"pid":1,"host":"h","since":"s"}`)
      yield* Effect.scoped(Effect.gen(function*() {
        yield* DataDirectory.open(directory)
        const { pid } = JSON.parse(fs.readFileSync(path.join(directory, "holder"), "utf8"))
        assert.strictEqual(pid, process.pid)
        assert.strictEqual(fs.statSync(path.join(directory, "holder")).mode & 0o777, 0o600)
      }))
      assert.isFalse(fs.existsSync(path.join(directory, "holder")))
    }))

  it.effect("names a path that cannot be a directory", () =>
    Effect.gen(function*() {
      const file = path.join(yield* temporaryDirectory, "file")
      fs.writeFileSync(file, "")
      const error = yield* refusal(path.join(file, "data"))
      assert.strictEqual(error.reason._tag, "Unusable")
      assert.include(error.message, path.join(file, "data"))
      assert.include(error.message, "ENOTDIR")
      const instead = yield* refusal(file)
      assert.strictEqual(instead.reason._tag, "Unusable")
      assert.include(instead.message, file)
      assert.include(instead.message, "EEXIST")
    }))

  it.effect("does not touch a database directory without a cluster", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      fs.mkdirSync(path.join(directory, "database"))
      fs.writeFileSync(path.join(directory, "database", "mine"), "precious")
      const error = yield* refusal(directory)
      assert.strictEqual(error.reason._tag, "Damaged")
      assert.include(error.message, `${path.join(directory, "database")} holds no database`)
      assert.deepStrictEqual(fs.readdirSync(path.join(directory, "database")), ["mine"])
    }))

  it.effect("reports a directory without write permission", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      fs.chmodSync(directory, 0o500)
      const error = yield* asOrdinaryUser(refusal(directory))
      assert.strictEqual(error.reason._tag, "Unusable")
      assert.include(error.message, directory)
      assert.include(error.message, "correct its permissions")
    }))

  it.effect("does not touch a cluster of another PostgreSQL version", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      fs.mkdirSync(path.join(directory, "database"))
      fs.writeFileSync(path.join(directory, "database", "PG_VERSION"), "17\n")
      const error = yield* refusal(directory)
      assert.strictEqual(error.reason._tag, "Damaged")
      assert.include(error.message, "PostgreSQL 17")
    }))
})
