import { PGlite } from "@electric-sql/pglite"
import { afterAll, assert, beforeAll, describe, it, vi } from "@effect/vitest"
import fs from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import * as os from "node:os"
import * as path from "node:path"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { type Backend, openBackend } from "#layers/postgres/embedded/Backend.ts"
import { unpackTemplate } from "#layers/postgres/embedded/Template.ts"

const simple = (text: string) => {
  const body = Buffer.from(`${text}\0`)
  const head = Buffer.alloc(5)
  head.write("Q")
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

const fdatasync = fs.fdatasyncSync

describe("Backend", () => {
  let directory: string
  let backend: Backend
  let syncs = 0
  let fault: Error | undefined
  const crashes: Array<unknown> = []
  const cycles = vi.spyOn(PGlite.prototype, "execProtocolRawSync")

  /** What the mended file system asks of the kernel goes through here. */
  beforeAll(async () => {
    fs.fdatasyncSync = (file) => {
      syncs++
      if (fault !== undefined) throw fault
      fdatasync(file)
    }
    syncBuiltinESMExports()
    directory = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "windhover-test-")), "database")
    await unpackTemplate(directory)
    const crash = (why: unknown): never => {
      crashes.push(why)
      throw why
    }
    backend = await openBackend(Promise.resolve(directory), crash, () => undefined)
    run("create table kept (id int)")
  })

  afterAll(async () => {
    fs.fdatasyncSync = fdatasync
    syncBuiltinESMExports()
    cycles.mockRestore()
    await backend.close()
    fs.rmSync(path.dirname(directory), { recursive: true })
  })

  const run = (text: string) => Buffer.from(backend.execute(simple(text))).toString("latin1")

  const syncsOf = (text: string) => {
    const before = syncs
    run(text)
    return syncs - before
  }

  it("syncs once for each commit, and never for a read", () => {
    const commits = Array.from({ length: 20 }, (_, i) => syncsOf(`insert into kept values (${i})`))
    assert.deepStrictEqual(commits, Array.from({ length: 20 }, () => 1))
    assert.strictEqual(syncsOf("select count(*) from kept"), 0)
    assert.strictEqual(syncsOf("begin; insert into kept values (20); insert into kept values (21); commit"), 1)
  })

  it("syncs tables and control file at a checkpoint", () => {
    assert.isAbove(syncsOf("checkpoint"), 3)
  })

  it("reports fsync as on", () => {
    assert.include(run("show fsync"), "on")
    assert.include(run("show synchronous_commit"), "on")
    assert.include(run("show full_page_writes"), "on")
  })

  it("returns complete answers of any length", () => {
    for (const length of [10, 100_000, 5_000_000, 10]) {
      const answer = run(`select repeat('x', ${length})`)
      assert.strictEqual(answer.split("x").length - 1, length)
      assert.strictEqual(answer.slice(-6), "Z\0\0\0\u0005I")
    }
  })

  it("keeps no memory of former answers", () => {
    const question = simple("select n from generate_series(1, 10000) n")
    backend.execute(question)
    setFlagsFromString("--expose-gc")
    const collect: () => void = runInNewContext("gc")
    collect()
    const before = process.memoryUsage().heapUsed
    for (let i = 0; i < 100; i++) assert.isAbove(backend.execute(question).length, 100_000)
    collect()
    assert.isBelow(process.memoryUsage().heapUsed - before, 30_000_000) // a million rows, read, have 90 MB
  })

  it("crashes instead of acknowledging a failed sync", () => {
    fault = Object.assign(new Error("EIO: i/o error, fdatasync"), { code: "EIO" })
    run("insert into kept values (22)")
    fault = undefined
    assert.include(String(crashes[0]), "EIO")
  })

  it("crashes instead of returning a partial answer", () => {
    const broken = new Error("PGlite failed after half of an answer")
    cycles.mockImplementationOnce(() => {
      throw broken
    })
    assert.throws(() => run("select 1"), broken)
    assert.strictEqual(crashes.at(-1), broken)
  })
})
