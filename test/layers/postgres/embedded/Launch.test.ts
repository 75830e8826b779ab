import { afterAll, assert, beforeAll, beforeEach, describe, it } from "@effect/vitest"
import { once } from "node:events"
import { syncBuiltinESMExports } from "node:module"
import threads, { type Worker } from "node:worker_threads"
import { launch, launchAhead } from "#layers/postgres/embedded/Launch.ts"
import type { FromWorker } from "#layers/postgres/embedded/Messages.ts"

/** A missing cluster that must not be created: a thread that starts it reports the absence, and ends. */
const nowhere = { cluster: "/nowhere/database", mayCreate: false, idleTransactionMs: 60_000 }

const lastWord = async (worker: Worker): Promise<FromWorker> => {
  const [[message]] = await Promise.all([once(worker, "message"), once(worker, "exit")])
  return message
}

describe("Launch", () => {
  const { Worker: original } = threads
  const begun: Array<Worker> = []
  let hasThreads = true

  const put = (worker: typeof original) => {
    threads.Worker = worker
    syncBuiltinESMExports()
  }

  beforeAll(() =>
    put(
      class extends original {
        constructor(...parameters: ConstructorParameters<typeof original>) {
          if (!hasThreads) throw new Error("Worker initialization failure: EAGAIN")
          super(...parameters)
          begun.push(this)
        }
      }
    )
  )
  afterAll(() => put(original))
  beforeEach(() => {
    begun.length = 0
    hasThreads = true
  })

  it("uses the thread that was launched ahead, once", async () => {
    launchAhead()
    assert.strictEqual(begun.length, 1)
    const first = launch(nowhere)
    assert.strictEqual(first, begun[0])
    const second = launch(nowhere)
    assert.strictEqual(begun.length, 2)
    const gone: FromWorker = { _tag: "Crashed", problem: "/nowhere/database has gone" }
    assert.deepStrictEqual(await Promise.all([lastWord(first), lastWord(second)]), [gone, gone])
  }, 60_000)

  it("starts another thread when the launched one has ended", async () => {
    launchAhead()
    await begun[0]?.terminate()
    const worker = launch(nowhere)
    assert.strictEqual(worker, begun[1])
    assert.strictEqual((await lastWord(worker))._tag, "Crashed")
  }, 60_000)

  it("reports a missing thread only to launch", () => {
    hasThreads = false
    launchAhead()
    assert.throws(() => launch(nowhere), "EAGAIN")
  })
})
