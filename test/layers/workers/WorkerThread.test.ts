import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { spawnSync } from "node:child_process"
import { WorkerThread } from "#layers/workers/WorkerThread.ts"
import type { ResultPart } from "#layers/workers/feed-reader/ResultParts.ts"
import type { ReadRequest } from "#layers/workers/feed-reader/worker.ts"
import { noThreads } from "#test/support/NoThreads.ts"

const script = new URL("../../../src/layers/workers/feed-reader/worker.ts", import.meta.url)

const thread = Effect.acquireRelease(
  Effect.sync(() => new WorkerThread<ReadRequest, ResultPart>({ script, name: "test" })),
  (thread) => thread.stop
)

describe("WorkerThread", () => {
  it.live("keeps a starting thread for the next caller after an interruption", () =>
    Effect.gen(function*() {
      const reader = yield* thread
      const first = yield* Effect.forkChild(reader.start, { startImmediately: true })
      yield* Fiber.interrupt(first)
      yield* reader.start
      const part = yield* reader.request({ bytes: new Uint8Array(), options: {} }, "1 minute")
      assert.strictEqual(part.result?._tag, "NotFeed")
    }).pipe(Effect.scoped))

  it.live("reports that the system has no free thread, and starts later", () =>
    Effect.gen(function*() {
      const reader = yield* thread
      assert.strictEqual(
        yield* Effect.scoped(Effect.andThen(noThreads, Effect.flip(reader.start))),
        "its thread could not be started (Error: Worker initialization failure: EAGAIN)"
      )
      yield* reader.start
    }).pipe(Effect.scoped))

  it("can be stopped at any moment of its start without a crash of Node", () => {
    const source = `
      import { Effect } from "effect"
      import { WorkerThread } from "#layers/workers/WorkerThread.ts"
      const script = new URL(${JSON.stringify(script.href)})
      for (let i = 0; i < 12; i++) {
        const thread = new WorkerThread({ script, name: "test" })
        const start = Effect.runPromise(Effect.ignore(thread.start))
        await new Promise((resolve) => setTimeout(resolve, i * 25))
        await Effect.runPromise(thread.stop)
        await start
      }
      console.log("alive")`
    const { signal, status, stderr, stdout } = spawnSync(process.execPath, ["--input-type=module", "--eval", source], {
      encoding: "utf8",
      cwd: new URL("../..", import.meta.url).pathname
    })
    assert.deepStrictEqual({ signal, status, stderr, stdout }, {
      signal: null,
      status: 0,
      stderr: "",
      stdout: "alive\n"
    })
  })
})
