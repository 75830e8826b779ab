import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { EventEmitter } from "node:events"
import type { Worker } from "node:worker_threads"
import type { FromWorker, ToWorker } from "#layers/postgres/embedded/Messages.ts"
import { startThread } from "#layers/postgres/embedded/Thread.ts"

/** A thread that notes its messages, and is ready at once. */
const launched = () => {
  const received: Array<ToWorker> = []
  const worker = Object.assign(new EventEmitter(), {
    postMessage: (message: ToWorker) => {
      received.push(message)
      if (message._tag === "Shutdown") worker.emit("exit", 0)
    },
    terminate: () => Promise.resolve(0)
  })
  const launch = () => {
    setImmediate(() => worker.emit("message", { _tag: "Ready" }))
    return worker as unknown as Worker
  }
  return { received, worker, launch, answer: (message: FromWorker) => worker.emit("message", message) }
}

const begin = Effect.gen(function*() {
  const { answer, launch, received, worker } = launched()
  const thread = yield* startThread({ cluster: "/nowhere", mayCreate: false }, launch)
  const listeners = worker.listenerCount("message")
  const checkpoint = yield* Effect.forkChild(Effect.flip(Effect.andThen(thread.checkpoint, Effect.fail("made"))), {
    startImmediately: true
  })
  assert.deepStrictEqual(received, [{ _tag: "Checkpoint" }])
  return { answer, worker, end: Fiber.join(checkpoint), listeners }
})

describe("Thread", () => {
  it.effect("makes a checkpoint", () =>
    Effect.gen(function*() {
      const { answer, end, listeners, worker } = yield* begin
      answer({ _tag: "Log", line: "a line" })
      answer({ _tag: "Checkpointed", isMade: true })
      assert.strictEqual(yield* end, "made")
      assert.strictEqual(worker.listenerCount("message"), listeners)
    }))

  it.effect("fails when PostgreSQL made no checkpoint", () =>
    Effect.gen(function*() {
      const { answer, end } = yield* begin
      answer({ _tag: "Checkpointed", isMade: false })
      assert.strictEqual(yield* end, "PostgreSQL made no checkpoint.")
    }))

  it.effect("fails when the thread ends during a checkpoint", () =>
    Effect.gen(function*() {
      const { answer, end, listeners, worker } = yield* begin
      answer({ _tag: "Crashed", problem: "EIO" })
      worker.emit("exit", 1)
      assert.strictEqual(yield* end, "EIO")
      assert.strictEqual(worker.listenerCount("message"), listeners)
    }))
})
