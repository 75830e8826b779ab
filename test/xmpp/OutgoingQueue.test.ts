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
        (id) => Effect.forkChild(outgoing.send(id, ["<message/>"], 0), { startImmediately: true })
      )
      assert.strictEqual(yield* outgoing.send("more", ["<message/>"], 0), "unavailable")
      assert.strictEqual(outgoing.takeBatch().length, 32)
      outgoing.accept()()
      const more = yield* Effect.forkChild(outgoing.send("more", ["<message/>"], 0), { startImmediately: true })
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
        yield* Effect.forkChild(outgoing.send(String(i), mebi, 0), { startImmediately: true })
      }
      assert.strictEqual(yield* outgoing.send("more", ["x"], 0), "unavailable")
      outgoing.takeBatch()
      const more = yield* Effect.forkChild(outgoing.send("more", ["x"], 0), { startImmediately: true })
      assert.isUndefined(more.pollUnsafe())
    }))

  /** Starts a delivery of one message, and returns the fiber of its result. */
  const send = (outgoing: OutgoingQueue, id: string, now = 0, isHeld?: () => boolean) =>
    Effect.forkChild(outgoing.send(id, [id], now, isHeld), { startImmediately: true })

  it.effect("keeps a delivery that the connection loses again and again, with growing pauses, and sends the others", () =>
    Effect.gen(function*() {
      const outgoing = yield* queue
      const first = yield* send(outgoing, "large")
      const other = yield* send(outgoing, "other")
      assert.deepStrictEqual(outgoing.takeBatch(), ["large", "other"])
      assert.deepStrictEqual(outgoing.requeue("lost", 0), [])
      for (const again of [1, 2]) { // the first loss alone is retried at once: a server that restarts loses any delivery
        assert.deepStrictEqual(outgoing.takeBatch(), ["large"], String(again))
        assert.deepStrictEqual(outgoing.requeue("lost", 0), [])
      }
      assert.strictEqual(yield* Fiber.join(first), "unavailable")
      assert.deepStrictEqual(outgoing.takeBatch(), ["other"])
      outgoing.accept()()
      assert.strictEqual(yield* Fiber.join(other), "accepted")

      let now = 0
      for (const pause of [15, 30, 60, 120, 240, 480, 600, 600, 600]) {
        assert.strictEqual(yield* outgoing.send("large", ["large"], now + pause * 1000 - 1), "unavailable")
        now += pause * 1000
        const next = yield* send(outgoing, "large", now)
        yield* send(outgoing, "beside")
        assert.deepStrictEqual(outgoing.takeBatch(), ["large"])
        assert.deepStrictEqual(outgoing.requeue("lost", now), [])
        assert.strictEqual(yield* Fiber.join(next), "unavailable")
        assert.deepStrictEqual(outgoing.takeBatch(), ["beside"])
        outgoing.accept()()
      }
      const last = yield* send(outgoing, "large", now + 600_000)
      outgoing.takeBatch()
      outgoing.accept()()
      assert.strictEqual(yield* Fiber.join(last), "accepted")
      yield* send(outgoing, "large", now + 600_000)
      yield* send(outgoing, "other", now + 600_000)
      assert.deepStrictEqual(outgoing.takeBatch(), ["large", "other"]) // an accepted delivery is suspected no longer
    }))

  it.effect("drops a delivery that the server's policy refuses five times alone, and pauses in between", () =>
    Effect.gen(function*() {
      const outgoing = yield* queue
      let now = 0
      for (const pause of [15, 30, 60, 120]) {
        const refused = yield* send(outgoing, "bad", now)
        outgoing.takeBatch()
        assert.deepStrictEqual(outgoing.requeue("policy", now), [])
        assert.strictEqual(yield* Fiber.join(refused), "unavailable")
        now += pause * 1000
        assert.strictEqual(yield* outgoing.send("bad", ["bad"], now - 1), "unavailable")
      }
      const last = yield* send(outgoing, "bad", now)
      outgoing.takeBatch()
      assert.deepStrictEqual(outgoing.requeue("policy", now), ["bad"])
      assert.strictEqual(yield* Fiber.join(last), "poison")
    }))

  it.effect("drops a delivery that the server rejects twice alone, whatever losses lie in between", () =>
    Effect.gen(function*() {
      const outgoing = yield* queue
      const bad = yield* send(outgoing, "bad")
      outgoing.takeBatch()
      assert.deepStrictEqual(outgoing.requeue("rejected", 0), [])
      outgoing.takeBatch()
      assert.deepStrictEqual(outgoing.requeue("lost", 0), [])
      outgoing.takeBatch()
      assert.deepStrictEqual(outgoing.requeue("rejected", 0), ["bad"])
      assert.strictEqual(yield* Fiber.join(bad), "poison")
    }))

  it.effect("sends no delivery whose lease is lost by its turn", () =>
    Effect.gen(function*() {
      const outgoing = yield* queue
      let isHeld = true
      const mine = yield* send(outgoing, "mine", 0, () => isHeld)
      yield* send(outgoing, "other")
      isHeld = false
      assert.deepStrictEqual(outgoing.takeBatch(), ["other"])
      assert.strictEqual(yield* Fiber.join(mine), "lease-lost")
    }))
})
