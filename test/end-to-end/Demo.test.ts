import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { once } from "node:events"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { installed } from "#test/support/Prosody.ts"
import { startProgram } from "#test/support/Program.ts"
import { patience } from "#test/support/Service.ts"

const root = join(import.meta.dirname, "../..")

/** Child processes of a process on Linux. */
const childrenOf = (pid: number | undefined): ReadonlyArray<string> =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter((one) => one !== "")

describe("the demo", () => {
  it.live("shows entries on their way to webhook and client of XMPP, and ends in order", () =>
    Effect.gen(function*() {
      const { child, said, until } = yield* startProgram(join(root, "bin/node"), [join(root, "scripts/demo.ts")])
      const wanted = [/ webhook +got "News no. \d".* \(no. 1, signature good, credits -\d\)$/]
      if (installed !== undefined) wanted.push(/ xmpp +got "News no. \d"/)
      yield* until(() => wanted.every((line) => said.some((one) => line.test(one))))
      assert.strictEqual(said.some((line) => / xmpp +is left out/.test(line)), installed === undefined)
      child.kill("SIGTERM")
      yield* Effect.promise(() => once(child, "close")) // all output has been read
      assert.strictEqual(child.exitCode, 0)
      assert.match(said.at(-1) ?? "", / demo +stops; Windhover completes the deliveries in flight$/)
    }), patience)

  it.live("ends its processes when its reader has gone", () =>
    Effect.gen(function*() {
      const { child, said, until } = yield* startProgram(join(root, "bin/node"), [join(root, "scripts/demo.ts")])
      yield* until(() => said.some((line) => / windhover +is ready/.test(line)))
      const started = childrenOf(child.pid)
      assert.isAbove(started.length, 0)
      child.stdout.destroy()
      yield* Effect.promise(() => once(child, "exit"))
      assert.strictEqual(child.exitCode, 0)
      assert.deepStrictEqual(started.filter((pid) => existsSync(`/proc/${pid}`)), [])
    }), patience)
})
