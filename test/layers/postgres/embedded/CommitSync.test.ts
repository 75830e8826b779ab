import { afterEach, assert, beforeEach, describe, it, vi } from "@effect/vitest"
import fs from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import { CommitSync } from "#layers/postgres/embedded/CommitSync.ts"

const original = {
  closeSync: fs.closeSync,
  fdatasync: fs.fdatasync,
  fdatasyncSync: fs.fdatasyncSync,
  openSync: fs.openSync
}

/** A file of the log. The pool's descriptor has a number 100 above the backend's. */
const logOf = (descriptor: number) => ({ descriptor, path: String(descriptor + 100) })
const log = logOf(7)

describe("CommitSync", () => {
  /** Syncs and answers in their order. */
  let events: Array<string>
  /** Ends the syncs of the thread pool, in their order. */
  let pool: Array<(error: NodeJS.ErrnoException | null) => void>
  let fault: Error | undefined
  let commits: CommitSync

  beforeEach(() => {
    vi.useFakeTimers()
    events = []
    pool = []
    fault = undefined
    fs.fdatasync = Object.assign((file: number, end: (error: NodeJS.ErrnoException | null) => void) => {
      events.push(`sync ${file - 100} in the pool`)
      pool.push(end)
    }, { __promisify__: original.fdatasync.__promisify__ })
    fs.fdatasyncSync = (file) => {
      events.push(`sync ${file}`)
      if (fault !== undefined) throw fault
    }
    fs.openSync = (path) => Number(path)
    fs.closeSync = (descriptor) => void events.push(`close ${descriptor - 100}`)
    syncBuiltinESMExports()
    commits = new CommitSync((error) => {
      throw error
    })
    commits.defer()
  })

  afterEach(() => {
    Object.assign(fs, original)
    syncBuiltinESMExports()
    vi.useRealTimers()
  })

  const answer = (name: string) => commits.whenSynced(() => events.push(name))
  const endSync = (error: NodeJS.ErrnoException | null = null) => pool.shift()?.(error)

  it("answers at once without an unsynced commit", () => {
    answer("a")
    assert.deepStrictEqual(events, ["a"])
  })

  it("answers commits and reads after the sync that covers them, one sync for all commits of a sync before", () => {
    commits.commit(log)
    answer("commit 1")
    answer("read")
    commits.commit(log)
    answer("commit 2")
    commits.commit(log)
    answer("commit 3")
    answer("read 3")
    assert.deepStrictEqual(events, ["sync 7 in the pool"])
    endSync()
    assert.deepStrictEqual(events.splice(0), ["sync 7 in the pool", "commit 1", "read", "sync 7 in the pool"])
    endSync()
    assert.deepStrictEqual(events.splice(0), ["commit 2", "commit 3", "read 3"])
    answer("later")
    assert.deepStrictEqual(events, ["later"])
  })

  it("syncs everything before another change of the files, and answers once", () => {
    commits.commit(log)
    answer("commit 1")
    commits.commit(log)
    answer("commit 2")
    commits.flush()
    assert.deepStrictEqual(events.splice(0), ["sync 7 in the pool", "sync 7", "commit 1", "commit 2"])
    endSync()
    commits.flush()
    assert.deepStrictEqual(events, [])
  })

  it("crashes after a failed sync of the pool, even if its own sync has passed", () => {
    commits.commit(log)
    commits.flush()
    assert.throws(() => endSync(Object.assign(new Error("EIO"), { code: "EIO" })), "EIO")
  })

  it("syncs the old file of the log when the log continues in another one", () => {
    commits.commit(log)
    answer("commit 1")
    commits.commit(logOf(8))
    answer("commit 2")
    commits.commit(logOf(9))
    answer("commit 3")
    assert.deepStrictEqual(events.splice(0), [
      "sync 7 in the pool",
      "sync 7",
      "sync 8",
      "commit 1",
      "commit 2",
      "sync 9 in the pool"
    ])
    endSync()
    assert.deepStrictEqual(events.splice(0), ["close 7"])
    endSync()
    commits.stopDeferring()
    assert.deepStrictEqual(events.splice(0), ["commit 3", "close 9"])
  })

  it("has at most three syncs in the pool, and syncs in its own thread meanwhile", () => {
    for (let i = 0; i < 3; i++) {
      commits.commit(log)
      commits.flush()
    }
    assert.strictEqual(pool.length, 3)
    events.length = 0
    for (const name of ["commit 4", "commit 5"]) {
      commits.commit(log)
      answer(name)
    }
    assert.deepStrictEqual(events.splice(0), ["sync 7", "commit 4", "sync 7", "commit 5"])
    endSync()
    commits.commit(log)
    assert.deepStrictEqual(events, ["sync 7 in the pool"])
  })

  it("syncs in its own thread without a descriptor for the pool", () => {
    const open = vi.fn<() => number>().mockImplementationOnce(() => {
      throw Object.assign(new Error("EMFILE"), { code: "EMFILE" })
    }).mockReturnValue(107)
    fs.openSync = open
    syncBuiltinESMExports()
    commits.commit(log)
    answer("commit 1")
    commits.commit(log)
    answer("commit 2")
    assert.deepStrictEqual(events, ["sync 7", "commit 1", "sync 7 in the pool"])
  })

  it("syncs a file before it is closed", () => {
    commits.commit(log)
    answer("commit 1")
    commits.close(8)
    assert.deepStrictEqual(events.splice(0), ["sync 7 in the pool"])
    commits.commit(logOf(8))
    commits.close(8)
    assert.deepStrictEqual(events, ["sync 7", "sync 8", "commit 1"])
  })

  it("syncs in its own thread after 20 ms, by its timer and while messages keep it busy", () => {
    commits.commit(log)
    answer("commit 1")
    vi.advanceTimersByTime(19)
    assert.deepStrictEqual(events.splice(0), ["sync 7 in the pool"])
    vi.advanceTimersByTime(1)
    assert.deepStrictEqual(events.splice(0), ["sync 7", "commit 1"])
    endSync()
    commits.commit(log)
    const now = vi.spyOn(performance, "now").mockReturnValueOnce(performance.now() + 40)
    answer("commit 2")
    now.mockRestore()
    assert.deepStrictEqual(events, ["sync 7 in the pool", "sync 7", "commit 2"])
  })

  it("waits for the pool twice as long as the last sync took, up to 200 ms, for one sync at a time", () => {
    const waitAfter = (ms: number) => {
      commits.commit(log)
      vi.advanceTimersByTime(ms)
      endSync()
      events.length = 0
      commits.commit(log)
      let waitMs = 0
      for (; !events.includes("sync 7"); waitMs++) vi.advanceTimersByTime(1)
      endSync()
      return waitMs
    }
    assert.deepStrictEqual([waitAfter(5), waitAfter(18), waitAfter(150)], [20, 36, 200])
    commits.commit(log)
    vi.advanceTimersByTime(10)
    endSync()
    commits.commit(log)
    events.length = 0
    vi.advanceTimersByTime(19) // the wait of the sync before ends here
    assert.deepStrictEqual(events, [])
  })

  it("crashes after a failed sync, and answers nothing", () => {
    commits.commit(log)
    answer("commit 1")
    assert.throws(() => endSync(Object.assign(new Error("EIO"), { code: "EIO" })), "EIO")
    fault = new Error("ENOSPC")
    assert.throws(() => commits.flush(), "ENOSPC")
    assert.deepStrictEqual(events, ["sync 7 in the pool", "sync 7"])
  })

  it("waits for each sync before the start and after the end of its service", () => {
    commits.commit(log)
    answer("commit 1")
    commits.stopDeferring()
    commits.commit(log)
    answer("commit 2")
    assert.deepStrictEqual(events, ["sync 7 in the pool", "sync 7", "commit 1", "sync 7", "commit 2"])
  })
})
