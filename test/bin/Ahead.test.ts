import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { temporaryDirectory } from "#test/support/Databases.ts"

const bin = path.join(import.meta.dirname, "../../bin/windhover")

/** Preloaded script that prints the number of threads of its process. */
const counting = `
  import { syncBuiltinESMExports } from "node:module"
  import threads from "node:worker_threads"
  const { Worker } = threads
  threads.Worker = class extends Worker {
    constructor(...parameters) {
      super(...parameters)
      process.stderr.write("A thread has begun.\\n")
    }
  }
  syncBuiltinESMExports()`

/** Runs a short command with these settings only. */
const run = Effect.fnUntraced(function*(
  command: ReadonlyArray<string>,
  settings: { readonly [variable: string]: string } = {}
) {
  const directory = yield* temporaryDirectory
  const data = path.join(directory, "data")
  const { status, stderr } = spawnSync(bin, command, {
    encoding: "utf8",
    cwd: directory,
    env: {
      PATH: process.env["PATH"],
      NODE_OPTIONS: `--import "data:text/javascript,${encodeURIComponent(counting)}"`,
      WINDHOVER_DATA_DIR: data,
      ...settings
    }
  })
  const threads = stderr.split("A thread has begun.").length - 1
  return { status, stderr, threads, made: fs.readdirSync(directory) }
})

describe("the thread that is begun before it is known which database it starts", () => {
  it.effect("is not begun by what needs no embedded database", () =>
    Effect.gen(function*() {
      for (const command of [["--help"], ["--version"], ["settings"], ["serve", "--help"], ["serve", "--nonsense"]]) {
        const { threads, made } = yield* run(command)
        assert.deepStrictEqual([threads, made], [0, []], command.join(" "))
      }
      const server = yield* run(["serve"], { WINDHOVER_DATABASE_URL: "postgres://127.0.0.1", WINDHOVER_PORT: "none" })
      assert.deepStrictEqual([server.status, server.threads, server.made], [1, 0, []])
    }), 300_000)

  it.effect("makes nothing where the settings are refused, and keeps nobody waiting", () =>
    Effect.gen(function*() {
      const { made, status, stderr, threads } = yield* run(["serve"], { WINDHOVER_PORT: "none" })
      assert.include(stderr, "windhover: WINDHOVER_PORT is \"none\"")
      assert.deepStrictEqual([status, threads, made], [1, 1, []])
    }), 60_000)
})
