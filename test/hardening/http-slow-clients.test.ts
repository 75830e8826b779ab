import { assert, describe, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { basic } from "#test/support/Api.ts"
import type { RawConnection } from "#test/support/RawHttp.ts"
import { serveRoutes } from "#test/support/RoutesServer.ts"

/** Short timeouts, so that the test can wait for them. */
const impatient = serveRoutes({}, undefined, {}, { headerMs: 200, requestMs: 400, checkIntervalMs: 50, idleMs: 10_000 })

/** Sends a byte from time to time, as the slow-loris attack does. */
const dribble = (connection: RawConnection) =>
  connection.send("x").pipe(Effect.repeat(Schedule.spaced("20 millis")), Effect.forkScoped)

const authorization = `Authorization: ${basic().authorization}`

describe("deliberately slow clients", () => {
  it.live("get 408 for an endless header, and are disconnected", () =>
    Effect.gen(function*() {
      const { connect } = yield* impatient
      const connection = yield* connect
      yield* connection.send("GET /?hub.mode=list HTTP/1.1\r\nHost: a\r\nX-Slow: ")
      yield* dribble(connection)
      const { body, status } = yield* connection.receive()
      assert.strictEqual(`${status} ${body}`, "408 The request did not arrive in time; send it again.")
      yield* connection.closed
    }))

  it.live("are disconnected when they send no byte", () =>
    Effect.gen(function*() {
      const { connect } = yield* impatient
      yield* (yield* connect).closed
    }))

  it.live("get 408 for an endless body", () =>
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

  it.live("get 408 for an endless body behind a request for another protocol", () =>
    Effect.gen(function*() {
      const { connect } = yield* impatient
      for (const protocol of ["websocket", "h2c"]) {
        const connection = yield* connect
        yield* connection.send(
          `POST /hub HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\nContent-Length: 1000\r\n\r\n`
        )
        yield* dribble(connection)
        assert.strictEqual((yield* connection.receive()).status, 408, protocol)
        yield* connection.closed
      }
    }))

  it.live("do not delay other clients", () =>
    Effect.gen(function*() {
      const { connect } = yield* serveRoutes({})
      for (let i = 0; i < 200; i++) {
        yield* Effect.flatMap(connect, (slow) => slow.send("POST / HTTP/1.1\r\nHost: a\r\nX: "))
      }
      const connection = yield* connect
      yield* connection.send(`GET /?hub.mode=authenticate HTTP/1.1\r\nHost: a\r\n${authorization}\r\n\r\n`)
      assert.strictEqual((yield* connection.receive()).status, 204)
    }))

  it.live("may disconnect in the middle of a body without harm", () =>
    Effect.gen(function*() {
      const { connect } = yield* serveRoutes({})
      for (let i = 0; i < 20; i++) {
        yield* Effect.scoped(Effect.flatMap(connect, (gone) =>
          gone.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhub.mode=")))
      }
      const connection = yield* connect
      yield* connection.send(`GET /?hub.mode=authenticate HTTP/1.1\r\nHost: a\r\n${authorization}\r\n\r\n`)
      assert.strictEqual((yield* connection.receive()).status, 204)
    }))

  it.live("are disconnected when they read nothing of a large response", () =>
    Effect.gen(function*() {
      const hub = {
        retrieve: () =>
          Effect.succeed({
            status: { feed: "" },
            entries: [],
            document: { contentType: "text/plain", body: new Uint8Array(64 << 20) }
          })
      }
      const timeouts = { headerMs: 300_000, requestMs: 300_000, checkIntervalMs: 300_000, idleMs: 3_000 } // longer than the silence timeout
      const settings = { maxStreams: 0, maxStreamsPerAccount: 0 }
      const { connect } = yield* serveRoutes(hub, undefined, settings, timeouts, { maxPerAddress: 1, maxTotal: 1 })
      const stalled = yield* connect
      yield* stalled.pause
      yield* stalled.send(`GET /?hub.mode=retrieve&hub.topic=http://a/ HTTP/1.1\r\nHost: a\r\n${authorization}\r\n\r\n`)
      const another = Effect.scoped(Effect.gen(function*() {
        const connection = yield* connect
        yield* connection.send(`GET /?hub.mode=authenticate HTTP/1.1\r\nHost: a\r\n${authorization}\r\n\r\n`)
        return (yield* connection.receive()).status
      }))
      assert.strictEqual(yield* another, 503) // no connection is left
      yield* Effect.repeat(another, { until: (status) => status === 204, schedule: Schedule.spaced("50 millis") })
      yield* stalled.goOn
      yield* stalled.closed
    }))
})
