import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { temporaryDirectory } from "#test/support/Databases.ts"

const bin = path.join(import.meta.dirname, "../../bin/windhover")

const run = (cache: string) => {
  const { stderr, stdout } = spawnSync(bin, ["--version"], {
    encoding: "utf8",
    env: { ...process.env, NODE_COMPILE_CACHE: cache }
  })
  return stdout + stderr
}

const files = (directory: string) =>
  fs.readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name))

describe("compiled code that is kept", () => {
  it.effect(
    "is compiled anew where it is damaged, and does without where it cannot be kept",
    () =>
      Effect.gen(function*() {
        const cache = path.join(yield* temporaryDirectory, "cache")
        const version = run(cache)
        assert.match(version, /\d+\.\d+\.\d+\n$/)
        const kept = files(cache)
        assert.isAbove(kept.length, 100)
        for (const [i, file] of kept.entries()) {
          const content = fs.readFileSync(file)
          const middle = content.length >> 1
          if (i % 3 === 0) fs.truncateSync(file, middle) // as after a full disk
          if (i % 3 === 1) fs.writeFileSync(file, content.fill(0, middle)) // as after a crash of the machine
          if (i % 3 === 2) fs.writeFileSync(file, "")
        }
        assert.strictEqual(run(cache), version)
        const instead = path.join(yield* temporaryDirectory, "file")
        fs.writeFileSync(instead, "")
        assert.strictEqual(run(instead), version)
      })
  )
})
