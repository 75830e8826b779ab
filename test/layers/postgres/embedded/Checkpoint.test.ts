import { afterEach, assert, beforeEach, describe, it, vi } from "@effect/vitest"
import fs from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import * as os from "node:os"
import * as path from "node:path"
import { Checkpoint } from "#layers/postgres/embedded/Checkpoint.ts"

const { fdatasync, fdatasyncSync, openSync, writeSync } = fs

describe("Checkpoint", () => {
  let root: string
  /** Syncs and removals in their order. */
  let events: Array<string>
  /** Ends the syncs of the thread pool, in their order. */
  let pool: Array<(error: NodeJS.ErrnoException | null) => void>
  let descriptors: Array<string>
  let crashes: Array<unknown>
  let checkpoint: Checkpoint

  const at = (name: string) => path.join(root, name)
  const make = (name: string) => {
    fs.mkdirSync(path.dirname(at(name)), { recursive: true })
    fs.writeFileSync(at(name), "old")
  }
  const nameOf = (descriptor: number) => path.relative(root, fs.readlinkSync(`/proc/self/fd/${descriptor}`))
  const pages = [
    "base/5/16384",
    "base/5/16384_fsm",
    "base/5/16384.1",
    "global/1260",
    "pg_xact/0000",
    "pg_multixact/offsets/0000"
  ]
  const control = "global/pg_control"
  const log = "pg_wal/000000010000000000000001"

  beforeEach(() => {
    root = fs.mkdtempSync(path.join(os.tmpdir(), "windhover-test-"))
    for (const name of [...pages, control, log, "pg_logical/replorigin_checkpoint.tmp", "global/pg_filenode.map"]) {
      make(name)
    }
    events = []
    pool = []
    crashes = []
    descriptors = fs.readdirSync("/proc/self/fd")
    fs.fdatasync = Object.assign((file: number, end: (error: NodeJS.ErrnoException | null) => void) => {
      events.push(`sync ${nameOf(file)} in the pool`)
      pool.push(end)
    }, { __promisify__: fdatasync.__promisify__ })
    fs.fdatasyncSync = (file) => {
      events.push(
        `sync ${nameOf(file)}${nameOf(file) === control ? ` with ${fs.readFileSync(at(control), "utf8")}` : ""}`
      )
    }
    syncBuiltinESMExports()
    checkpoint = new Checkpoint((file) => {
      events.push(`remove ${path.relative(root, file)}`)
      if (file.endsWith("stubborn")) throw new Error("EPERM")
    }, (error) => {
      crashes.push(error)
      throw error
    })
  })

  afterEach(() => {
    Object.assign(fs, { fdatasync, fdatasyncSync, openSync })
    syncBuiltinESMExports()
    fs.rmSync(root, { recursive: true })
  })

  const nextTurn = () => new Promise(setImmediate)
  const endSync = async (error: NodeJS.ErrnoException | null = null) => {
    pool.shift()?.(error)
    await nextTurn()
  }
  const writeControl = (text: string) => checkpoint.postponesWrite(at(control), Buffer.from(text), 0)

  /** The operations of PostgreSQL's checkpoint. */
  const run = (files: ReadonlyArray<string>) => {
    checkpoint.begin()
    for (const name of files) assert.isTrue(checkpoint.postponesSync(at(name)))
    assert.isTrue(writeControl("new"))
    assert.isTrue(checkpoint.postponesSync(at(control)))
    assert.isTrue(checkpoint.postponesRemoval(at(log)))
    assert.isTrue(checkpoint.postponesSync(at("pg_wal")))
    return checkpoint.end()
  }

  it("syncs the files one after the other, writes the control file and removes the old log, in this order", async () => {
    const ended = run(pages)
    for (const name of pages) {
      assert.deepStrictEqual(events.splice(0), [`sync ${name} in the pool`])
      assert.strictEqual(fs.readFileSync(at(control), "utf8"), "old")
      await endSync()
    }
    assert.isTrue(await ended)
    assert.deepStrictEqual(events, [`sync ${control} with new`, `remove ${log}`])
    assert.deepStrictEqual(fs.readdirSync("/proc/self/fd"), descriptors)
  })

  it("keeps the bytes of a write, not their memory", async () => {
    checkpoint.begin()
    const bytes = Buffer.from("new")
    checkpoint.postponesWrite(at(control), bytes, 1)
    bytes.fill("x")
    assert.isTrue(await checkpoint.end())
    assert.strictEqual(fs.readFileSync(at(control), "utf8"), "onew")
  })

  it("postpones nothing outside of a checkpoint, and no sync of a file that is renamed next", async () => {
    const postponesAny = () =>
      checkpoint.postponesSync(at("base/5/16384")) || writeControl("other") || checkpoint.postponesRemoval(at(log))
    assert.isFalse(postponesAny())
    checkpoint.begin()
    assert.isFalse(checkpoint.postponesSync(at("pg_logical/replorigin_checkpoint.tmp")))
    assert.isFalse(checkpoint.postponesSync(at("global/pg_filenode.map")))
    assert.isFalse(checkpoint.postponesSync(at("base/5")))
    assert.isFalse(checkpoint.postponesRemoval(at(log)))
    assert.isFalse(checkpoint.postponesWrite(at("base/5/16384"), Buffer.from("page"), 0))
    await checkpoint.end()
    assert.isFalse(postponesAny())
    assert.deepStrictEqual(events, [])
  })

  it("syncs the files of a checkpoint that failed, and reports it", async () => {
    checkpoint.begin()
    checkpoint.postponesSync(at("base/5/16384"))
    const ended = checkpoint.end()
    await endSync()
    assert.isFalse(await ended)
    assert.deepStrictEqual(events, ["sync base/5/16384 in the pool"])
    assert.strictEqual(fs.readFileSync(at(control), "utf8"), "old")
  })

  it("does all in its own thread before the next checkpoint, also what the pool has begun", async () => {
    const ended = run(["base/5/16384", "global/1260"])
    events.length = 0
    checkpoint.begin()
    assert.deepStrictEqual(events, [
      "sync base/5/16384",
      "sync global/1260",
      `sync ${control} with new`,
      `remove ${log}`
    ])
    await endSync()
    assert.isTrue(await ended)
    assert.strictEqual(events.length, 4)
    checkpoint.settle()
    assert.deepStrictEqual(fs.readdirSync("/proc/self/fd"), descriptors)
  })

  it("syncs with a descriptor of its own, older than the sync of the pool", () => {
    const opened: Array<number> = []
    fs.openSync = (...parameters) => {
      const descriptor = openSync(...parameters)
      opened.push(descriptor)
      return descriptor
    }
    const synced: Array<number> = []
    const { fdatasync: inPool } = fs
    fs.fdatasync = Object.assign((file: number, end: fs.NoParamCallback) => {
      synced.push(file)
      inPool(file, end)
    }, { __promisify__: fdatasync.__promisify__ })
    fs.fdatasyncSync = (file) => void synced.push(file)
    syncBuiltinESMExports()
    void run(["base/5/16384"])
    checkpoint.settle()
    assert.deepStrictEqual(synced.slice(0, 2), [opened[2], opened[0]])
    pool.shift()?.(null)
  })

  it("never names a checkpoint whose files are not on disk", async () => {
    const error = Object.assign(new Error("EIO"), { code: "EIO" })
    run(["base/5/16384"]).catch(() => undefined)
    const end = pool.shift()
    assert.throws(() => end?.(error), "EIO")
    await nextTurn()
    assert.strictEqual(fs.readFileSync(at(control), "utf8"), "old")
    assert.deepStrictEqual(events, ["sync base/5/16384 in the pool"])
    fs.fdatasyncSync = () => {
      throw error
    }
    syncBuiltinESMExports()
    assert.throws(() => checkpoint.settle(), "EIO")
    assert.strictEqual(fs.readFileSync(at(control), "utf8"), "old")
    assert.deepStrictEqual(crashes, [error, error])
  })

  it("crashes when the control file cannot be written or synced", () => {
    const faults: Array<Partial<typeof fs>> = [
      {
        fdatasyncSync: () => {
          throw new Error("EIO")
        }
      },
      { writeSync: () => 1 }
    ]
    for (const fault of faults) {
      checkpoint.begin()
      writeControl("next")
      Object.assign(fs, fault)
      syncBuiltinESMExports()
      assert.throws(() => checkpoint.settle(), /EIO|Only 1 bytes/)
      Object.assign(fs, { fdatasyncSync, writeSync })
      syncBuiltinESMExports()
    }
    assert.strictEqual(crashes.length, 2)
  })

  it("syncs the rest in its own thread when the pool takes more than 30 s", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
    const ended = run(["base/5/16384", "global/1260"])
    await endSync()
    vi.advanceTimersByTime(29_999)
    assert.deepStrictEqual(events.splice(0), ["sync base/5/16384 in the pool", "sync global/1260 in the pool"])
    vi.advanceTimersByTime(1)
    assert.deepStrictEqual(events.splice(0), ["sync global/1260", `sync ${control} with new`, `remove ${log}`])
    assert.isTrue(await ended)
    await endSync()
    assert.strictEqual(vi.getTimerCount(), 0)
    const next = run(["base/5/16384"])
    await endSync()
    await next
    assert.strictEqual(vi.getTimerCount(), 0)
    vi.useRealTimers()
  })

  it("writes the control file without a free descriptor", async () => {
    const full = () => {
      throw Object.assign(new Error("EMFILE"), { code: "EMFILE" })
    }
    const ended = run(["global/1260"])
    fs.openSync = full
    syncBuiltinESMExports()
    await endSync()
    assert.isTrue(await ended)
    assert.strictEqual(fs.readFileSync(at(control), "utf8"), "new")
    fs.openSync = openSync
    syncBuiltinESMExports()
    checkpoint.begin()
    checkpoint.postponesSync(at("global/1260"))
    fs.openSync = full
    syncBuiltinESMExports()
    events.length = 0
    assert.isFalse(writeControl("by PostgreSQL"))
    assert.deepStrictEqual(events, ["sync global/1260"])
    assert.isTrue(await checkpoint.end())
  })

  it("syncs in its own thread without a descriptor", async () => {
    const full = () => {
      throw Object.assign(new Error("EMFILE"), { code: "EMFILE" })
    }
    checkpoint.begin()
    fs.openSync = full
    syncBuiltinESMExports()
    assert.isFalse(checkpoint.postponesSync(at("base/5/16384")))
    fs.openSync = openSync
    syncBuiltinESMExports()
    assert.isTrue(checkpoint.postponesSync(at("global/1260")))
    fs.openSync = full
    syncBuiltinESMExports()
    assert.isFalse(await checkpoint.end())
    assert.deepStrictEqual(events, ["sync global/1260"])
  })

  it("does all at once before an operation behind the control file that it does not know", async () => {
    for (
      const operation of [
        () => checkpoint.beforeChange(at("base/5/16384")),
        () => assert.isFalse(checkpoint.postponesSync(at("base/5/16384"))),
        () => assert.isFalse(writeControl("newer"))
      ]
    ) {
      events.length = 0
      checkpoint.begin()
      checkpoint.postponesSync(at("global/1260"))
      checkpoint.beforeChange(at(log))
      assert.deepStrictEqual(events, [])
      writeControl("new")
      checkpoint.postponesRemoval(at(log))
      operation()
      assert.deepStrictEqual(events, ["sync global/1260", `sync ${control} with new`, `remove ${log}`])
      assert.isFalse(checkpoint.postponesRemoval(at(log)))
      assert.isTrue(await checkpoint.end())
    }
  })

  it("does all at once before another file takes the name of a removed one, or the control file is written", async () => {
    for (const operation of [() => checkpoint.beforeChange(at(log)), () => assert.isFalse(writeControl("newer"))]) {
      const ended = run(["global/1260"])
      checkpoint.beforeChange(at(`${log}2`))
      assert.deepStrictEqual(events.splice(0), ["sync global/1260 in the pool"])
      operation()
      assert.deepStrictEqual(events.splice(0), ["sync global/1260", `sync ${control} with new`, `remove ${log}`])
      await endSync()
      assert.isTrue(await ended)
      assert.deepStrictEqual(events, [])
    }
  })

  it("continues behind a file that cannot be removed", async () => {
    checkpoint.begin()
    writeControl("new")
    for (const name of ["stubborn", "other"]) checkpoint.postponesRemoval(at(name))
    assert.isTrue(await checkpoint.end())
    assert.deepStrictEqual(events.slice(1), ["remove stubborn", "remove other"])
  })
})
