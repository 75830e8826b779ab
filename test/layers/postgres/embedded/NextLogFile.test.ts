import { afterEach, assert, beforeEach, describe, it } from "@effect/vitest"
import fs from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import * as os from "node:os"
import * as path from "node:path"
import { NextLogFile, nextName } from "#layers/postgres/embedded/NextLogFile.ts"

const current = "000000010000000000000001"
const next = "000000010000000000000002"
const draft = "xlogtemp.windhover"
const half = 8 * 1024 * 1024
const { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } = fs

describe("NextLogFile", () => {
  let directory: string
  let crashes: Array<unknown>
  /** Changes of names and their syncs, in their order. */
  let events: Array<string>
  /** The file handles of drafts log their writes and syncs in `events` as well. */
  const { open } = fs.promises

  beforeEach(() => {
    directory = fs.mkdtempSync(path.join(os.tmpdir(), "windhover-test-"))
    crashes = []
    events = []
    replace({
      fsyncSync: (file) => {
        events.push(`sync ${path.basename(fs.readlinkSync(`/proc/self/fd/${file}`))}`)
        fsyncSync(file)
      },
      renameSync: (from, to) => {
        events.push(`rename ${path.basename(String(from))} to ${path.basename(String(to))}`)
        renameSync(from, to)
      }
    })
    fs.promises.open = async (...parameters) => {
      const file = await open(...parameters)
      const datasync = file.datasync.bind(file)
      file.datasync = async () => {
        events.push(`sync ${path.basename(String(parameters[0]))} of ${(await file.stat()).size / 1024 / 1024} MB`)
        await datasync()
      }
      return file
    }
  })

  afterEach(() => {
    replace({ closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync })
    fs.promises.open = open
    fs.rmSync(directory, { recursive: true })
  })

  const replace = (functions: Partial<typeof fs>) => {
    Object.assign(fs, functions)
    syncBuiltinESMExports()
  }

  const make = () =>
    new NextLogFile(directory, (error) => {
      crashes.push(error)
      throw error
    })

  const prepare = (position = half) => make().prepareAfter(current, position)

  it("makes the next file with zeros once the current file is half full", async () => {
    await prepare(half - 1)
    assert.deepStrictEqual(fs.readdirSync(directory), [])
    await prepare()
    assert.deepStrictEqual(fs.readdirSync(directory), [next])
    const file = path.join(directory, next)
    assert.isTrue(fs.readFileSync(file).equals(Buffer.alloc(16 * 1024 * 1024)))
    assert.strictEqual(fs.statSync(file).mode & 0o777, 0o600)
  })

  it("syncs each megabyte, and the new name in the same turn", async () => {
    await prepare()
    assert.deepStrictEqual(events, [
      ...Array.from({ length: 16 }, (_, i) => `sync ${draft} of ${i + 1} MB`),
      `rename ${draft} to ${next}`,
      `sync ${path.basename(directory)}`
    ])
  })

  it("makes the next file from an old one, also after a restart", async () => {
    const old = path.join(directory, "000000010000000000000000")
    fs.writeFileSync(old, "old log")
    assert.isTrue(make().keep(old))
    assert.deepStrictEqual(fs.readdirSync(directory), [`${draft}.${path.basename(old)}`])
    events.length = 0
    await prepare()
    assert.deepStrictEqual(fs.readdirSync(directory), [next])
    assert.strictEqual(fs.readFileSync(path.join(directory, next), "utf8"), "old log")
    assert.deepStrictEqual(events.slice(1), [`rename ${draft} to ${next}`, `sync ${path.basename(directory)}`])
  })

  it("keeps eight old files, and none that it cannot rename", () => {
    const files = make()
    const old = (i: number) => path.join(directory, `00000001000000000000000${i}`)
    assert.isFalse(files.keep(old(0)))
    for (let i = 0; i < 9; i++) {
      fs.writeFileSync(old(i), "")
      assert.strictEqual(files.keep(old(i)), i < 8)
    }
    assert.deepStrictEqual(fs.readdirSync(directory), [
      path.basename(old(8)),
      ...Array.from({ length: 8 }, (_, i) => `${draft}.${path.basename(old(i))}`)
    ])
  })

  it("leaves a file that PostgreSQL has made before", async () => {
    fs.writeFileSync(path.join(directory, next), "log")
    await prepare()
    assert.deepStrictEqual(events, [])
    assert.strictEqual(fs.readFileSync(path.join(directory, next), "utf8"), "log")
  })

  it("leaves a file that PostgreSQL has made meanwhile", async () => {
    const preparing = prepare()
    fs.writeFileSync(path.join(directory, next), "log")
    await preparing
    assert.strictEqual(fs.readFileSync(path.join(directory, next), "utf8"), "log")
    assert.deepStrictEqual(fs.readdirSync(directory), [next])
  })

  it("makes a file once, and one file at a time", async () => {
    const files = make()
    const preparing = files.prepareAfter(current, half)
    await files.prepareAfter(next, half)
    await preparing
    assert.deepStrictEqual(fs.readdirSync(directory), [next])
    fs.rmSync(path.join(directory, next))
    await files.prepareAfter(current, half)
    assert.deepStrictEqual(fs.readdirSync(directory), [])
  })

  it("removes the draft of a process that was killed", () => {
    fs.writeFileSync(path.join(directory, draft), "")
    make()
    assert.deepStrictEqual(fs.readdirSync(directory), [])
  })

  it("leaves the file to PostgreSQL when the directory has gone", async () => {
    const files = make()
    fs.rmSync(directory, { recursive: true })
    await files.prepareAfter(current, half)
    assert.isFalse(fs.existsSync(directory))
    fs.mkdirSync(directory)
  })

  it("publishes no file when no descriptor is left for the sync of its name", async () => {
    replace({
      openSync: () => {
        throw new Error("EMFILE")
      }
    })
    await prepare()
    assert.deepStrictEqual(fs.readdirSync(directory), [])
    assert.deepStrictEqual(crashes, [])
  })

  it("leaves no draft on a full disk", async () => {
    fs.promises.open = async (...parameters) => {
      const file = await open(...parameters)
      file.writeFile = () => Promise.reject(new Error("ENOSPC"))
      return file
    }
    await prepare()
    assert.deepStrictEqual(fs.readdirSync(directory), [])
    assert.deepStrictEqual(crashes, [])
  })

  it("ends the database when the name could not be synced", async () => {
    const fault = new Error("EIO")
    replace({
      fsyncSync: () => {
        throw fault
      }
    })
    await prepare()
    assert.deepStrictEqual(crashes, [fault])
  })

  it("replaces a draft that could not be removed", async () => {
    fs.writeFileSync(path.join(directory, draft), "a part")
    replace({
      rmSync: () => {
        throw new Error("EIO")
      }
    })
    await prepare()
    assert.deepStrictEqual(fs.readdirSync(directory), [next])
    assert.strictEqual(fs.statSync(path.join(directory, next)).size, 16 * 1024 * 1024)
  })

  it("counts to the next 4 GiB", () => {
    assert.strictEqual(nextName("00000001000000000000000F"), "000000010000000000000010")
    assert.strictEqual(nextName("0000000100000009000000FF"), "000000010000000A00000000")
  })
})
