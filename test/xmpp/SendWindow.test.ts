import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Queue } from "effect"
import type { SendResult } from "#xmpp/OutgoingQueue.ts"
import * as SendWindow from "#xmpp/SendWindow.ts"

/** A window whose flushes end when the test says so, and the ids of started deliveries. */
const make = Effect.gen(function*() {
  const flushes = yield* Queue.unbounded<Deferred.Deferred<void>>()
  const window = yield* SendWindow.make(Effect.gen(function*() {
    const flushed = yield* Deferred.make<void>()
    yield* Queue.offer(flushes, flushed)
    yield* Deferred.await(flushed)
  }))
  const started: Array<string> = []
  const results = new Map<string, Deferred.Deferred<SendResult>>()
  /** Starts a delivery of `count` messages; its result comes from `finish`. */
  const send = Effect.fnUntraced(function*(id: string, count = 1, text = "<message/>") {
    const result = yield* Deferred.make<SendResult>()
    results.set(id, result)
    return yield* Effect.forkChild(
      window.withPlace(
        Array.from({ length: count }, () => text),
        Effect.andThen(Effect.sync(() => started.push(id)), Deferred.await(result))
      ),
      { startImmediately: true }
    )
  })
  const finish = Effect.fnUntraced(function*(id: string, result: SendResult) {
    yield* Deferred.succeed(results.get(id) ?? assert.fail(), result)
    yield* Effect.yieldNow
    yield* Effect.yieldNow
  })
  return { flushes, started, send, finish }
})

const ids = (count: number, prefix = "") => Array.from({ length: count }, (_, i) => `${prefix}${i}`)

describe("SendWindow", () => {
  it.effect("lets 64 messages out whose results are not stored, and the next ones in order", () =>
    Effect.gen(function*() {
      const { finish, flushes, send, started } = yield* make
      yield* Effect.forEach(ids(66), (id) => send(id))
      assert.deepStrictEqual(started, ids(64))
      yield* finish("0", "accepted")
      yield* finish("1", "accepted")
      assert.strictEqual(started.length, 64) // accepted, but a kill would repeat the messages
      yield* Deferred.succeed(yield* Queue.take(flushes), undefined)
      const second = yield* Queue.take(flushes) // of the result that came during the first flush
      assert.deepStrictEqual(started.slice(64), ["64"])
      yield* Deferred.succeed(second, undefined)
      yield* Effect.yieldNow
      assert.deepStrictEqual(started.slice(64), ["64", "65"])
    }))

  it.effect("frees the place of a delivery that was not sent, or is interrupted, at once", () =>
    Effect.gen(function*() {
      const { finish, send, started } = yield* make
      yield* Effect.forEach(ids(63), (id) => send(id))
      const last = yield* send("63")
      const interrupted = yield* send("64")
      yield* Effect.forEach(ids(2, "next "), (id) => send(id))
      yield* Fiber.interrupt(interrupted)
      yield* Fiber.interrupt(last)
      assert.deepStrictEqual(started.slice(64), ["next 0"])
      yield* finish("0", "unavailable")
      assert.deepStrictEqual(started.slice(64), ["next 0", "next 1"])
    }))

  it.effect("gives a delivery of more than 64 messages the whole window", () =>
    Effect.gen(function*() {
      const { finish, send, started } = yield* make
      yield* send("small")
      yield* send("large", 65)
      yield* send("later")
      assert.deepStrictEqual(started, ["small"])
      yield* finish("small", "unavailable")
      assert.deepStrictEqual(started, ["small", "large"])
      yield* finish("large", "unavailable")
      assert.deepStrictEqual(started, ["small", "large", "later"])
    }))

  it.effect("returns a delivery to the outbox when 10,000 deliveries or 64 Mi characters wait", () =>
    Effect.gen(function*() {
      const { send } = yield* make
      yield* send("first", 64)
      const waiting = yield* Effect.forEach(ids(10_000), (id) => send(id))
      assert.strictEqual(yield* Fiber.join(yield* send("more")), "unavailable")
      yield* Effect.forEach(waiting, Fiber.interrupt)
      yield* send("large", 64, "x".repeat(1024 * 1024))
      assert.strictEqual(yield* Fiber.join(yield* send("more")), "unavailable")
    }))
})
