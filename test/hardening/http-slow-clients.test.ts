import { assert, describe, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { basic } from "#test/support/Api.ts"
import type { RawConnection } from "#test/support/RawHttp.ts"
import { serve } from "#test/support/Served.ts"

/** With so little patience that a test can wait for its end. */
const impatient = serve({}, undefined, {}, { headerMs: 200, requestMs: 400, checkIntervalMs: 50, idleMs: 10_000 })

/** Keeps a connection alive with a byte now and then, as slow-loris does. */
const dribble = (connection: RawConnection) =>
  connection.send("x").pipe(Effect.repeat(Schedule.spaced("20 millis")), Effect.forkScoped)

const authorization = `Authorization: ${basic().authorization}`

describe("clients that are slow on purpose", () => {
  it.live("get 408 when the header does not end, and the connection is closed", () =>
    Effect.gen(function*() {
      const { connect } = yield* impatient
      const connection = yield* connect
      yield* connection.send("GET /?hub.mode=list HTTP/1.1\r\nHost: a\r\nX-Slow: ")
      yield* dribble(connection)
      const { body, status } = yield* connection.receive()
      assert.strictEqual(`${status} ${body}`, "408 The request did not arrive in time; send it again.")
      yield* connection.closed
    }))

  it.live("are cut off when they say nothing at all", () =>
    Effect.gen(function*() {
      const { connect } = yield* impatient
      yield* (yield* connect).closed
    }))

  it.live("get 408 when the body does not end", () =>
    Effect.gen(function*() {
      const { connect } = yield* impatient
      const connection = yield* connect
      yield* connection.send(
        `POST / HTTP/1.1\r\nHost: a\r\n${authorization}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\n`
      )
      yield* dribble(connection)
      assert.strictEqual((yield* connection.receive()).status, 408)
      yield* connection.closed
    }))

  it.live("hold nobody else up", () =>
    Effect.gen(function*() {
      const { connect } = yield* serve({})
      for (let i = 0; i < 200; i++) {
        yield* Effect.flatMap(connect, (slow) => slow.send("POST / HTTP/1.1\r\nHost: a\r\nX: "))
      }
      const connection = yield* connect
      yield* connection.send(`GET /?hub.mode=authenticate HTTP/1.1\r\nHost: a\r\n${authorization}\r\n\r\n`)
      assert.strictEqual((yield* connection.receive()).status, 204)
    }))

  it.live("may leave in the middle of a body: the service goes on", () =>
    Effect.gen(function*() {
      const { connect } = yield* serve({})
      for (let i = 0; i < 20; i++) {
        yield* Effect.scoped(Effect.flatMap(connect, (gone) =>
          gone.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhub.mode=")))
      }
      const connection = yield* connect
      yield* connection.send(`GET /?hub.mode=authenticate HTTP/1.1\r\nHost: a\r\n${authorization}\r\n\r\n`)
      assert.strictEqual((yield* connection.receive()).status, 204)
    }))

  it.live("are cut off when they ask for much and read nothing of it", () =>
    Effect.gen(function*() {
      const hub = {
        retrieve: () =>
          Effect.succeed({
            status: { feed: "" },
            entries: [],
            document: { contentType: "text/plain", body: new Uint8Array(64 << 20) }
          })
      }
      const timeouts = { headerMs: 300_000, requestMs: 300_000, checkIntervalMs: 300_000, idleMs: 3_000 } // longer than the second one takes
      const settings = { maxStreams: 0, maxStreamsPerAccount: 0 }
      const { connect } = yield* serve(hub, undefined, settings, timeouts, { maxPerAddress: 1, maxTotal: 1 })
      const stalled = yield* connect
      yield* stalled.pause
      yield* stalled.send(`GET /?hub.mode=retrieve&hub.topic=http://a/ HTTP/1.1\r\nHost: a\r\n${authorization}\r\n\r\n`)
      const another = Effect.scoped(Effect.gen(function*() {
        const connection = yield* connect
        yield* connection.send(`GET /?hub.mode=authenticate HTTP/1.1\r\nHost: a\r\n${authorization}\r\n\r\n`)
        return (yield* connection.receive()).status
      }))
      assert.strictEqual(yield* another, 503) // its place is taken
      yield* Effect.repeat(another, { until: (status) => status === 204, schedule: Schedule.spaced("50 millis") })
      yield* stalled.goOn
      yield* stalled.closed
    }))
})
