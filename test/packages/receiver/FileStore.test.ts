import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { createReceiver } from "#packages/receiver/src/index.ts"
import { FileStore } from "#packages/receiver/src/node.ts"
import { temporaryDirectory } from "#test/support/Databases.ts"
import { post, recording, signed } from "./Requests.ts"

const state = { last: 3, first: "1-7", recent: [["1-7", 1], ["msg", null]] } as const

const inDirectory = (run: (directory: string) => Promise<void>) =>
  Effect.flatMap(temporaryDirectory, (directory) => Effect.promise(() => run(join(directory, "state"))))

describe("FileStore", () => {
  it.live("keeps the state over a restart", () =>
    inDirectory(async (directory) => {
      await new FileStore(directory).save("7 http://feeds.test/a/../b", state)
      const store = new FileStore(directory)
      assert.deepStrictEqual(await store.load("7 http://feeds.test/a/../b"), state)
      assert.strictEqual(await store.load("8 http://feeds.test/a/../b"), undefined)
    }))

  it.live("lets a receiver that was restarted go on where it was", () =>
    inDirectory(async (directory) => {
      const handled: Array<unknown> = []
      for (const sequences of [[1, 2], [2, 4]]) {
        const record = recording({
          store: new FileStore(directory),
          onGap: ({ missing }) => void handled.push(missing)
        })
        const receiver = createReceiver(record.options)
        for (const sequence of sequences) await receiver.fetch(post(signed({ sequence })))
        handled.push(...record.sequences())
      }
      assert.deepStrictEqual(handled, [1, 2, [3], 4])
    }))

  it.live("removes the oldest files beyond its bound", () =>
    inDirectory(async (directory) => {
      const store = new FileStore(directory, { maxSubscriptions: 10 })
      for (let i = 0; i < 10; i++) {
        const before = new Set(i === 0 ? [] : readdirSync(directory))
        await store.save(`key ${i}`, state)
        for (const name of readdirSync(directory)) {
          if (!before.has(name)) utimesSync(join(directory, name), 1_000 + i, 1_000 + i)
        }
      }
      await store.save("key 0", state)
      await store.save("one more", state)
      assert.strictEqual(readdirSync(directory).length, 10)
      assert.deepStrictEqual([await store.load("key 0"), await store.load("key 1")], [state, undefined])
    }))

  it.live("removes files that a killed process left half-written", () =>
    inDirectory(async (directory) => {
      await new FileStore(directory).save("a", state)
      const [name = ""] = readdirSync(directory)
      writeFileSync(join(directory, `${name}.01234567-89ab-cdef-0123-456789abcdef.tmp`), "{")
      writeFileSync(join(directory, "notes.txt"), "")
      await new FileStore(directory).save("a", state)
      assert.sameMembers(readdirSync(directory), [name, "notes.txt"])
      assert.deepStrictEqual(JSON.parse(readFileSync(join(directory, name), "utf8")), state)
    }))

  it.live("names a damaged file, instead of starting anew", () =>
    inDirectory(async (directory) => {
      const store = new FileStore(directory)
      await store.save("a", state)
      const [name = ""] = readdirSync(directory)
      for (
        const text of [
          "{",
          "null",
          "{\"last\":\"1\",\"recent\":[]}",
          "{\"last\":1,\"recent\":[1]}",
          "{\"last\":1,\"first\":2,\"recent\":[]}"
        ]
      ) {
        writeFileSync(join(directory, name), text)
        const error = await store.load("a").catch(String)
        assert.include(String(error), `${join(directory, name)} is damaged.`)
      }
    }))

  it.live("passes on that its directory cannot be used", () =>
    inDirectory(async (directory) => {
      writeFileSync(directory, "")
      const store = new FileStore(directory)
      assert.include(String(await store.load("a").catch(String)), "ENOTDIR")
      assert.include(String(await store.save("a", state).catch(String)), "EEXIST")
    }))
})
