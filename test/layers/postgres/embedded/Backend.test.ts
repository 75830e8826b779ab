import { PGlite } from "@electric-sql/pglite"
import { afterAll, assert, beforeAll, describe, it, vi } from "@effect/vitest"
import fs from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import * as os from "node:os"
import * as path from "node:path"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { type Backend, openBackend } from "#layers/postgres/embedded/Backend.ts"
import { nextName } from "#layers/postgres/embedded/NextLogFile.ts"
import { unpackTemplate } from "#layers/postgres/embedded/Template.ts"

const simple = (text: string) => {
  const body = Buffer.from(`${text}\0`)
  const head = Buffer.alloc(5)
  head.write("Q")
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

const { fdatasync, fdatasyncSync, ftruncateSync, renameSync, truncateSync, unlinkSync, writeSync } = fs

/** True for a write of zeros, by the parameters behind the descriptor. */
const isEmpty = ([memory, offset, length]: ReadonlyArray<unknown>): boolean =>
  ArrayBuffer.isView(memory) &&
  Buffer.from(memory.buffer, memory.byteOffset + Number(offset), Number(length)).every((byte) => byte === 0)

describe("Backend", () => {
  let directory: string
  let backend: Backend
  let syncs = 0
  /** Syncs of the backend's own thread. */
  let ownSyncs = 0
  /** Syncs of the thread pool that have not ended. */
  let poolSyncs = 0
  /** Changes of the cluster's files, apart from the log, while a commit is not on disk. */
  const early: Array<string> = []
  /** Commits of a log file whose sync has not ended, by its name. */
  const running = new Set<string>()
  const nameOf = (file: number) => path.basename(fs.readlinkSync(`/proc/self/fd/${file}`))
  let fault: Error | undefined
  /** Starts the syncs of the pool that do not belong to the log. Undefined while they start at once. */
  let held: Array<() => void> | undefined
  const crashes: Array<unknown> = []
  const cycles = vi.spyOn(PGlite.prototype, "execProtocolRawSync")

  /** What the mended file system asks of the kernel goes through here. */
  beforeAll(async () => {
    fs.fdatasyncSync = (file) => {
      syncs++
      ownSyncs++
      if (fault !== undefined) throw fault
      fdatasyncSync(file)
      running.delete(nameOf(file))
    }
    fs.fdatasync = Object.assign((file: number, end: fs.NoParamCallback) => {
      syncs++
      const name = nameOf(file)
      running.add(name)
      if (fault !== undefined) return void end(fault)
      if (held !== undefined && !/^[0-9A-F]{24}$/.test(name)) {
        running.delete(name)
        return void held.push(() => fdatasync(file, end))
      }
      poolSyncs++
      fdatasync(file, (error) => {
        poolSyncs--
        running.delete(name)
        end(error)
      })
    }, { __promisify__: fdatasync.__promisify__ })
    fs.writeSync = (file: number, ...more: ReadonlyArray<unknown>) => {
      const name = nameOf(file)
      const isAllowed = /^[0-9A-F]{24}$/.test(name) || isEmpty(more)
      if (running.size > 0 && !isAllowed) early.push(`write ${name}`)
      return Reflect.apply(writeSync, fs, [file, ...more])
    }
    fs.truncateSync = (name, length) => {
      if (running.size > 0) early.push(`truncate ${String(name)}`)
      truncateSync(name, length)
    }
    fs.ftruncateSync = (file, length) => {
      if (running.size > 0) early.push(`truncate ${nameOf(file)}`)
      ftruncateSync(file, length)
    }
    fs.unlinkSync = (name) => {
      if (running.size > 0) early.push(`unlink ${String(name)}`)
      unlinkSync(name)
    }
    fs.renameSync = (from, to) => {
      // The next file of the log is empty.
      if (running.size > 0 && !String(from).endsWith("xlogtemp.windhover")) early.push(`rename ${String(from)}`)
      renameSync(from, to)
    }
    syncBuiltinESMExports()
    directory = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "windhover-test-")), "database")
    await unpackTemplate(directory)
    const crash = (why: unknown): never => {
      crashes.push(why)
      throw why
    }
    backend = await openBackend(Promise.resolve(directory), crash, () => undefined)
    await commit("create table kept (id int)")
  })

  afterAll(async () => {
    Object.assign(fs, { fdatasync, fdatasyncSync, ftruncateSync, renameSync, truncateSync, unlinkSync, writeSync })
    syncBuiltinESMExports()
    cycles.mockRestore()
    await backend.close()
    fs.rmSync(path.dirname(directory), { recursive: true })
  })

  const run = (text: string) => Buffer.from(backend.execute(simple(text))).toString("latin1")

  const commit = (text: string) => {
    run(text)
    const { promise, resolve } = Promise.withResolvers<void>()
    backend.whenSynced(resolve)
    return promise
  }

  const poolIsIdle = () => vi.waitFor(() => assert.strictEqual(poolSyncs, 0), { interval: 1 })

  const syncsOf = async (text: string) => {
    const before = syncs
    await commit(text)
    return syncs - before
  }

  /** A sync that is slow on a busy machine is repeated by the backend's own thread. */
  const assertOne = (count: number) => assert.include([1, 2], count)

  it("syncs once for each commit, and never for a read", async () => {
    for (let i = 0; i < 20; i++) assertOne(await syncsOf(`insert into kept values (${i})`))
    assert.strictEqual(await syncsOf("select count(*) from kept"), 0)
    assertOne(await syncsOf("begin; insert into kept values (20); insert into kept values (21); commit"))
  })

  it("continues its log in a file that was made ahead", async () => {
    const log = path.join(directory, "pg_wal")
    const current = () =>
      run("select 'is ' || pg_walfile_name(pg_current_wal_insert_lsn())").match(/is ([0-9A-F]{24})/)?.[1] ?? ""
    const write8MB = () => commit("select pg_logical_emit_message(false, '', repeat('x', 8 << 20), true)::text")
    const before = current()
    const next = path.join(log, nextName(before))
    assert.isFalse(fs.existsSync(next))
    await write8MB()
    const { ino } = await vi.waitFor(() => fs.statSync(next), { interval: 1, timeout: 30_000 })
    await write8MB()
    assert.strictEqual(current(), path.basename(next))
    assert.strictEqual(fs.statSync(next).ino, ino)
  })

  it("syncs once for all commits that arrive during a sync", async () => {
    const before = syncs
    for (let i = 0; i < 10; i++) run(`insert into kept values (${i})`)
    await commit("select 1")
    assert.include([2, 3, 4], syncs - before)
  })

  /** Runs a statement while the pool syncs a commit. */
  const runDuringSync = async (text: string) => {
    await poolIsIdle()
    run("insert into kept values (0)")
    assert.isAbove(poolSyncs, 0)
    run(text)
  }

  it("changes no other file before the log of a commit is on disk", async () => {
    await commit("create table large (id int, text text)")
    for (let i = 0; i < 60; i++) { // more than the shared buffers
      await runDuringSync(`insert into large select n, repeat(md5(n::text), 20) from generate_series(1, 500) n`)
    }
    await runDuringSync("update large set id = id + 1")
    await runDuringSync("truncate large")
    await runDuringSync("drop table large")
    await runDuringSync("checkpoint")
    assert.deepStrictEqual(early, [])
  })

  it("syncs a file of the log before it is closed", async () => {
    for (let i = 0; i < 3; i++) {
      await runDuringSync("select pg_switch_wal()")
      run("insert into kept values (0)")
    }
    await commit("select 1")
    assert.deepStrictEqual({ crashes, early }, { crashes: [], early: [] })
  })

  it("extends a table without a sync", async () => {
    await commit("create table wide (text text)")
    await poolIsIdle()
    const before = ownSyncs
    for (let i = 0; i < 60; i++) {
      run("insert into wide select string_agg(md5(n::text), '') from generate_series(1, 60) n")
      if (i % 8 === 7) await poolIsIdle()
    }
    assert.isBelow(ownSyncs - before, 20)
    assert.deepStrictEqual(early, [])
  })

  it("syncs tables and control file at a checkpoint", async () => {
    assert.isAbove(await syncsOf("checkpoint"), 3)
    assert.deepStrictEqual(early, [])
  })

  describe("in the background", () => {
    const control = () => fs.readFileSync(path.join(directory, "global", "pg_control")).toString("hex")
    const logs = () => fs.readdirSync(path.join(directory, "pg_wal")).filter((name) => /^[0-9A-F]{24}$/.test(name))
    const count = () => Number(run("select 'n' || count(*) from checkpointed").match(/n(\d+)/)?.[1])

    const withHeldSyncs = async (use: (ended: Promise<boolean>) => Promise<void>) => {
      await commit("select pg_switch_wal()")
      await commit("insert into checkpointed values (1)")
      held = []
      const ended = backend.checkpoint()
      assert.strictEqual(held.length, 1)
      await use(ended)
      held = undefined
      assert.isTrue(await ended)
      assert.deepStrictEqual({ crashes, early }, { crashes: [], early: [] })
    }

    const release = () => {
      const first = held?.shift()
      held = undefined
      first?.()
    }

    it("syncs the files while statements go on, and removes the log afterwards", async () => {
      await commit("create table checkpointed (id int)")
      const [before, old] = [control(), logs()]
      await withHeldSyncs(async (ended) => {
        await commit("insert into checkpointed values (2)")
        assert.strictEqual(count(), 2)
        assert.strictEqual(control(), before)
        assert.includeMembers(logs(), old)
        release()
        await ended
        assert.notStrictEqual(control(), before)
        assert.notIncludeMembers(logs(), old.slice(0, 1))
        assert.include(fs.readdirSync(path.join(directory, "pg_wal")), `xlogtemp.windhover.${old[0]}`)
      })
    })

    it("loses nothing when the process ends before the files are on disk", async () => {
      await withHeldSyncs(async () => {
        await commit("insert into checkpointed values (3)")
        const [expected, copy] = [count(), `${directory}-copy`]
        fs.cpSync(directory, copy, { recursive: true })
        fs.rmSync(path.join(copy, "postmaster.pid"))
        release()
        const crash = (why: unknown): never => {
          throw why
        }
        const recovered = await openBackend(Promise.resolve(copy), crash, () => undefined)
        const answer = Buffer.from(recovered.execute(simple("select 'n' || count(*) from checkpointed"))).toString(
          "latin1"
        )
        assert.include(answer, `n${expected}`)
        await recovered.close()
      })
    })

    it("does the rest at once before the next checkpoint", async () => {
      const before = control()
      await withHeldSyncs(async (ended) => {
        await commit("checkpoint")
        const after = control()
        assert.notStrictEqual(after, before)
        release()
        await ended
        assert.strictEqual(control(), after)
      })
    })

    it("keeps files of dropped tables until the checkpoint is on disk", async () => {
      await commit("create table dropped (id int)")
      await commit("checkpoint")
      const file = path.join(
        directory,
        run("select 'at ' || pg_relation_filepath('dropped')").match(/at ([a-z\d/]+)/)?.[1] ?? ""
      )
      await commit("drop table dropped")
      await withHeldSyncs(async (ended) => {
        assert.isTrue(fs.existsSync(file))
        release()
        await ended
        assert.isFalse(fs.existsSync(file))
      })
    })
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

  it("crashes instead of acknowledging a failed sync", async () => {
    await poolIsIdle()
    fault = Object.assign(new Error("EIO: i/o error, fdatasync"), { code: "EIO" })
    let isAnswered = false
    run("insert into kept values (22)")
    fault = undefined
    backend.whenSynced(() => {
      isAnswered = true
    })
    assert.include(String(crashes[0]), "EIO")
    assert.isFalse(isAnswered)
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
