import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { HttpServerRequest } from "effect/http"
import { once } from "node:events"
import { IncomingMessage } from "node:http"
import { Socket } from "node:net"
import { malformed } from "#http/HttpRejection.ts"
import { readSmallBody } from "#http/SmallBody.ts"

const incomplete = malformed("The body ended early.")

/** A request over a message of Node; `arrayBuffer` returns "fallback". */
const requestOver = (message: IncomingMessage, headers: Record<string, string> = {}) =>
  Object.create(HttpServerRequest.fromWeb(new Request("http://windhover.test/")), {
    source: { value: message },
    headers: { value: headers },
    arrayBuffer: { value: Effect.succeed(new TextEncoder().encode("fallback").buffer) }
  }) as HttpServerRequest.HttpServerRequest

const read = (message: IncomingMessage, headers?: Record<string, string>) =>
  Effect.map(
    readSmallBody(requestOver(message, headers), incomplete),
    (bytes) => new TextDecoder().decode(bytes)
  )

const send = (...chunks: ReadonlyArray<string>) => {
  const message = new IncomingMessage(new Socket())
  for (const chunk of chunks) message.push(Buffer.from(chunk))
  message.push(null)
  return message
}

describe("SmallBody", () => {
  it.live("reads no chunk, one chunk and several chunks in order", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* read(send()), "")
      assert.strictEqual(yield* read(send("hub.mode=list")), "hub.mode=list")
      assert.strictEqual(yield* read(send("hub.mode", "=", "list")), "hub.mode=list")
    }))

  it.live("rejects a body whose client disconnects, with and without an error", () =>
    Effect.gen(function*() {
      for (const error of [undefined, new Error("aborted")]) {
        const message = new IncomingMessage(new Socket())
        message.push(Buffer.from("hub.mo"))
        const fiber = yield* Effect.forkChild(Effect.flip(read(message)), { startImmediately: true })
        message.destroy(error)
        assert.strictEqual(yield* Fiber.join(fiber), incomplete)
        assert.strictEqual(message.listenerCount("data"), 0)
      }
    }))

  it.live("destroys the message when the request is interrupted", () =>
    Effect.gen(function*() {
      const message = new IncomingMessage(new Socket())
      const fiber = yield* Effect.forkChild(read(message), { startImmediately: true })
      assert.strictEqual(message.listenerCount("data"), 1)
      yield* Fiber.interrupt(fiber)
      assert.isTrue(message.destroyed)
      assert.strictEqual(message.listenerCount("data"), 0)
    }))

  it.live("leaves other sources to the request", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* read(send("x"), { expect: "100-continue" }), "fallback")
      assert.strictEqual(yield* read(send("x"), { upgrade: "h2c" }), "fallback")
      const closed = new IncomingMessage(new Socket())
      const isClosed = once(closed, "close")
      const late = read(closed)
      closed.destroy()
      yield* Effect.promise(() => isClosed)
      assert.strictEqual(yield* late, "fallback")
    }))
})
