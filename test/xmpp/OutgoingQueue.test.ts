import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Latch } from "effect"
import { OutgoingQueue } from "#xmpp/OutgoingQueue.ts"

const queue = Effect.map(Latch.make(), (latch) => new OutgoingQueue(latch))

describe("Outgoing", () => {
  it.effect("queues at most 10,000 deliveries", () =>
    Effect.gen(function*() {
      const outgoing = yield* queue
      const waiting = yield* Effect.forEach(
        Array.from({ length: 10_000 }, (_, i) => String(i)),
        (id) => Effect.forkChild(outgoing.send(id, ["<message/>"]), { startImmediately: true })
      )
      assert.strictEqual(yield* outgoing.send("more", ["<message/>"]), "unavailable")
      assert.strictEqual(outgoing.takeBatch().length, 32)
      outgoing.confirm()
      const more = yield* Effect.forkChild(outgoing.send("more", ["<message/>"]), { startImmediately: true })
      assert.isUndefined(more.pollUnsafe()) // there is space again
      outgoing.failWaiting()
      assert.strictEqual(yield* Fiber.join(more), "unavailable")
      assert.deepStrictEqual([...new Set(yield* Fiber.joinAll(waiting))], ["accepted", "unavailable"])
    }))

  it.effect("queues at most 64 Mi characters", () =>
    Effect.gen(function*() {
      const outgoing = yield* queue
      const mebi = ["x".repeat(1024 * 1024)]
      for (let i = 0; i < 64; i++) {
        yield* Effect.forkChild(outgoing.send(String(i), mebi), { startImmediately: true })
      }
      assert.strictEqual(yield* outgoing.send("more", ["x"]), "unavailable")
      outgoing.takeBatch()
      const more = yield* Effect.forkChild(outgoing.send("more", ["x"]), { startImmediately: true })
      assert.isUndefined(more.pollUnsafe())
    }))
})
