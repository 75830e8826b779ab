import { PGlite } from "@electric-sql/pglite"
import { afterEach, assert, beforeEach, describe, it } from "@effect/vitest"
import fs from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import * as os from "node:os"
import * as path from "node:path"
import { CommitSync } from "#layers/postgres/embedded/CommitSync.ts"
import { DurableFiles } from "#layers/postgres/embedded/DurableFiles.ts"

const { fdatasync, fdatasyncSync } = fs
const log = "000000010000000000000001"
const next = "000000010000000000000002"

type Operation = (...parameters: ReadonlyArray<unknown>) => unknown

describe("DurableFiles", () => {
  let root: string
  let files: DurableFiles
  let commits: CommitSync
  /** Operations of Emscripten that ran, and syncs, in their order. */
  let events: Array<string>
  /** Ends the syncs of the thread pool. */
  const pool: Array<fs.NoParamCallback> = []
  let operations: Record<"node_ops" | "stream_ops", Record<string, Operation>>

  const at = (name: string) => path.join(root, name)
  const nameOf = (file: number) => path.relative(root, fs.readlinkSync(`/proc/self/fd/${file}`))
  /** An open file or directory, as Emscripten names it. */
  const open = (name: string) => ({ nfd: fs.openSync(at(name), "r"), path: path.join(PGlite.paths.PGDATA, name) })
  const directory = (name: string) => ({ path: at(name) })

  const write = (name: string, text: string) => {
    const stream = open(name)
    try {
      return operations.stream_ops["write"]?.(stream, Buffer.from(text), 0, text.length, 0)
    } finally {
      fs.closeSync(stream.nfd)
    }
  }
  const sync = (name: string) => operations.stream_ops["fsync"]?.(open(name))
  const name = (operation: string, ...parameters: ReadonlyArray<unknown>) =>
    operations.node_ops[operation]?.(...parameters)

  beforeEach(async () => {
    root = fs.mkdtempSync(path.join(os.tmpdir(), "windhover-test-"))
    for (const file of ["base/5/16384", "global/pg_control", `pg_wal/${log}`]) {
      fs.mkdirSync(path.dirname(at(file)), { recursive: true })
      fs.writeFileSync(at(file), "old")
    }
    events = []
    fs.fdatasync = Object.assign((file: number, end: fs.NoParamCallback) => {
      events.push(`sync ${nameOf(file)} in the pool`)
      pool.push(end)
    }, { __promisify__: fdatasync.__promisify__ })
    fs.fdatasyncSync = (file) => void events.push(`sync ${nameOf(file)}`)
    syncBuiltinESMExports()
    const note = (names: ReadonlyArray<string>) =>
      Object.fromEntries(names.map((operation) => [operation, () => void events.push(operation)]))
    operations = {
      node_ops: note(["setattr", "mknod", "rename", "unlink", "rmdir", "symlink"]),
      stream_ops: note(["write", "close", "setattr"])
    }
    const crash = (error: unknown): never => {
      throw error
    }
    commits = new CommitSync(crash)
    commits.defer()
    files = new DurableFiles(Promise.resolve(root), commits, crash)
    const module = {
      FS: { mkdirTree: () => undefined, mount: () => events.push("mount") },
      NODEFS: { ...operations, realPath: (node: { readonly path: string }) => node.path }
    }
    Object.assign(files, { pg: { Module: module } })
    await files.initialSyncFs()
    assert.deepStrictEqual(events.splice(0), ["mount"])
  })

  afterEach(() => {
    commits.stopDeferring()
    Object.assign(fs, { fdatasync, fdatasyncSync })
    syncBuiltinESMExports()
    fs.rmSync(root, { recursive: true })
  })

  /** Changes of names and lengths, by the operation that Emscripten calls. */
  const changes: Record<string, () => unknown> = {
    setattr: () => name("setattr", directory("base/5/16384")),
    mknod: () => name("mknod", directory("base/5"), "16385"),
    rename: () => name("rename", directory("base/5/16384"), directory("base/5"), "16385"),
    rmdir: () => name("rmdir", directory("base"), "6"),
    symlink: () => name("symlink", directory("base"), "7", "/elsewhere"),
    "setattr of an open file": () => operations.stream_ops["setattr"]?.(open("base/5/16384"))
  }

  /** Runs the statement of a checkpoint up to the control file. */
  const beginCheckpoint = () => {
    files.checkpoint.begin()
    sync("base/5/16384")
    assert.strictEqual(write("global/pg_control", "new"), 3)
    assert.deepStrictEqual(events, [])
  }

  const settled = ["sync base/5/16384", "sync global/pg_control"]

  it("postpones syncs, the control file and the removal of old log in a checkpoint", () => {
    beginCheckpoint()
    sync("global/pg_control")
    assert.strictEqual(name("unlink", directory("pg_wal"), log), 0)
    sync("pg_wal")
    assert.deepStrictEqual(events, [])
    assert.isTrue(fs.existsSync(at(`pg_wal/${log}`)))
    files.checkpoint.settle()
    assert.deepStrictEqual(events, settled)
    assert.deepStrictEqual(fs.readdirSync(at("pg_wal")), [`xlogtemp.windhover.${log}`])
  })

  it("removes the file of a dropped table after the control file", () => {
    beginCheckpoint()
    assert.strictEqual(name("unlink", directory("base/5"), "16384"), 0)
    assert.isTrue(fs.existsSync(at("base/5/16384")))
    files.checkpoint.settle()
    assert.isFalse(fs.existsSync(at("base/5/16384")))
  })

  it("does all of this before other operations of the checkpoint", () => {
    for (const [operation, run] of Object.entries(changes)) {
      beginCheckpoint()
      run()
      assert.deepStrictEqual(events.splice(0), [...settled, operation.replace(/ .*/, "")])
      void files.checkpoint.end()
    }
  })

  it("does all of this before another file takes the name of a removed one", () => {
    for (const operation of ["mknod", "symlink", "rename"]) {
      beginCheckpoint()
      name("unlink", directory("pg_wal"), log)
      void files.checkpoint.end()
      assert.deepStrictEqual(events.splice(0), ["sync base/5/16384 in the pool"])
      const target = operation === "rename" ? [directory("base/5/16384")] : []
      name(operation, ...target, directory("pg_wal"), next)
      assert.deepStrictEqual(events.splice(0), [operation])
      name(operation, ...target, directory("pg_wal"), log)
      assert.deepStrictEqual(events.splice(0), [...settled, operation])
      fs.renameSync(at(`pg_wal/xlogtemp.windhover.${log}`), at(`pg_wal/${log}`))
    }
  })

  it("keeps old log that PostgreSQL removes outside of such a checkpoint, and no other file", () => {
    assert.strictEqual(name("unlink", directory("pg_wal"), log), 0)
    assert.deepStrictEqual(fs.readdirSync(at("pg_wal")), [`xlogtemp.windhover.${log}`])
    name("unlink", directory("base/5"), "16384")
    assert.deepStrictEqual(events, ["unlink"])
  })

  it("syncs the log of commits before each change of another file", () => {
    const all = {
      ...changes,
      unlink: () => name("unlink", directory("base/5"), "16384"),
      write: () => write("base/5/16384", "page"),
      "close of the log": () => operations.stream_ops["close"]?.(current)
    }
    let current = open(`pg_wal/${log}`)
    for (const [change, run] of Object.entries(all)) {
      events.length = 0
      current = open(`pg_wal/${log}`)
      operations.stream_ops["fsync"]?.(current)
      run()
      const own = `sync pg_wal/${log}`
      assert.deepStrictEqual(events, [`${own} in the pool`, own, change.replace(/ .*/, "")], change)
      fs.closeSync(current.nfd)
      for (const end of pool.splice(0)) end(null)
    }
  })

  it("rejects a PGlite without the operations that it mends", async () => {
    const other = new DurableFiles(Promise.resolve(root), commits, () => {
      throw new Error("crash")
    })
    const module = { FS: {}, NODEFS: { node_ops: {}, stream_ops: {}, realPath: () => "" } }
    Object.assign(other, { pg: { Module: module } })
    const problem = await other.initialSyncFs().catch(String)
    assert.include(problem, "has no operation write to patch")
  })
})
