import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Exit, Layer, Scope } from "effect"
import { HttpServer, HttpServerResponse } from "effect/http"
import * as diagnostics from "node:diagnostics_channel"
import * as HttpServerNode from "#layers/server/HttpServerNode.ts"
import * as Settings from "#layers/Settings.ts"
import { accounts, basic } from "#test/support/Api.ts"
import { open } from "#test/support/RawHttp.ts"
import { serveRoutes } from "#test/support/RoutesServer.ts"
import { serve as taken } from "#test/support/Servers.ts"

const authorization = `Authorization: ${basic().authorization}`

/** Sends one request over its own connection. Returns status and body, and whether the server closes. */
const exchange = Effect.fnUntraced(function*(bytes: string) {
  const { connect } = yield* serveRoutes({})
  const connection = yield* connect
  yield* connection.send(bytes)
  const { body, headers, status } = yield* connection.receive()
  return { status, body, type: headers.get("content-type"), connection: headers.get("connection") }
})

const closing = { type: "text/plain; charset=utf-8", connection: "close" }

/** The error message for an address that the server cannot listen on. */
const refusalAt = (host: string, port: number) =>
  Layer.build(HttpServerNode.layer).pipe(
    Effect.scoped,
    Effect.provide(Settings.layerValues({ host, port })),
    Effect.flip,
    Effect.map(({ message }) => message)
  )

describe("HttpServerNode", () => {
  it.live("gives the reason why it cannot listen, and the setting to change", () =>
    Effect.gen(function*() {
      const { port } = yield* taken(() => {})
      assert.strictEqual(
        yield* refusalAt("127.0.0.1", port),
        `Port ${port} of 127.0.0.1 is taken: another program listens there, perhaps another Windhover. `
          + "Stop that program, or set WINDHOVER_PORT to another port."
      )
      assert.strictEqual(
        yield* refusalAt("192.0.2.1", 0),
        "WINDHOVER_HOST names the host \"192.0.2.1\", which is not an address of this machine (EADDRNOTAVAIL). "
          + "Set an address of this machine, such as 127.0.0.1."
      )
    }))

  it.live("answers requests that arrive before the routes exist", () =>
    Effect.gen(function*() {
      const came = yield* Deferred.make<void>()
      const note = () => setImmediate(() => void Deferred.doneUnsafe(came, Effect.void)) // the event comes before the routes see the request
      yield* Effect.acquireRelease(
        Effect.sync(() => diagnostics.subscribe("http.server.request.start", note)),
        () => Effect.sync(() => diagnostics.unsubscribe("http.server.request.start", note))
      )
      const server = yield* Layer.build(HttpServerNode.layer).pipe(
        Effect.provide(Settings.layerValues({ host: "127.0.0.1", port: 0 }))
      )
      const { address } = yield* HttpServer.HttpServer.pipe(Effect.provideContext(server))
      const connection = yield* open("port" in address ? address.port : 0)
      yield* connection.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      yield* Deferred.await(came)
      const routes = HttpServer.serve(Effect.succeed(HttpServerResponse.text("here now")))
      yield* Layer.build(routes).pipe(Effect.provideContext(server))
      const { body, status } = yield* connection.receive()
      assert.deepStrictEqual([status, body], [200, "here now"])
      yield* connection.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      assert.strictEqual((yield* connection.receive()).body, "here now")
    }).pipe(Effect.scoped))

  it.live("responds on a connection that stays open", () =>
    Effect.gen(function*() {
      const { connect } = yield* serveRoutes({})
      const connection = yield* connect
      for (let i = 0; i < 2; i++) {
        yield* connection.send(`GET /?hub.mode=authenticate HTTP/1.1\r\nHost: a\r\n${authorization}\r\n\r\n`)
        const { headers, status } = yield* connection.receive()
        assert.strictEqual(status, 204)
        assert.strictEqual(headers.get("pubsubhubbub-version"), "0.3")
      }
    }))

  it.live("closes unused and idle connections at once when it stops", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const { connect } = yield* Scope.provide(serveRoutes({}), scope)
      const [unused, idle] = [yield* connect, yield* connect]
      yield* idle.send(`GET /?hub.mode=authenticate HTTP/1.1\r\nHost: a\r\n${authorization}\r\n\r\n`)
      assert.strictEqual((yield* idle.receive(true)).status, 204)
      const [duration] = yield* Effect.timed(Scope.close(scope, Exit.void))
      yield* Effect.all([unused.closed, idle.closed])
      assert.isBelow(Duration.toMillis(duration), 5_000)
    }))

  it.live("rejects connections beyond the limit, until others close", () =>
    Effect.gen(function*() {
      const settings = { maxStreams: 1, maxStreamsPerAccount: 1 }
      const { connect } = yield* serveRoutes({}, accounts, settings, undefined, { maxPerAddress: 1, maxTotal: 1 })
      const authenticate = `GET /?hub.mode=authenticate HTTP/1.1\r\nHost: a\r\n${authorization}\r\n\r\n`
      const [first] = [yield* connect, yield* connect]
      yield* first.send(authenticate)
      assert.strictEqual((yield* first.receive()).status, 204)
      const third = yield* connect
      const { body, headers, status } = yield* third.receive()
      assert.deepStrictEqual([status, headers.get("retry-after"), body], [
        503,
        "10",
        "Too many connections are open. Please close some, or connect again later."
      ])
      yield* third.closed
      yield* first.send(authenticate.replace("HTTP/1.1", "HTTP/1.0"))
      assert.strictEqual((yield* first.receive()).status, 204)
      yield* first.closed
      const next = yield* connect
      yield* next.send(authenticate)
      assert.strictEqual((yield* next.receive()).status, 204)
    }))

  it.live("reads a form on GET", () =>
    Effect.gen(function*() {
      const body = "hub.mode=authenticate"
      const answer = yield* exchange(
        `GET / HTTP/1.1\r\nHost: a\r\n${authorization}\r\nContent-Type: application/x-www-form-urlencoded\r\n` +
          `Content-Length: ${body.length}\r\n\r\n${body}`
      )
      assert.strictEqual(answer.status, 204)
    }))

  it.live("serves HTTP/1.0 without a Host", () =>
    Effect.gen(function*() {
      const answer = yield* exchange(`GET /?hub.mode=authenticate HTTP/1.0\r\n${authorization}\r\n\r\n`)
      assert.strictEqual(answer.status, 204)
    }))

  it.live("explains that bytes are not a request", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* exchange("\u0016\u0003\u0001 hello\r\n\r\n"), {
        status: 400,
        body: "The request is not readable as HTTP/1.1; it had no effect.",
        ...closing
      })
    }))

  it.live("explains that a header is too large", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* exchange(`GET /?x=${"x".repeat(40_000)} HTTP/1.1\r\nHost: a\r\n\r\n`), {
        status: 431,
        body: "The header of the request has more than 32768 bytes; send the parameters as a form with POST.",
        ...closing
      })
    }))

  it.live("answers a request for another protocol like any other, and closes", () =>
    Effect.gen(function*() {
      const upgrade = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAA"
      const chunks = "Transfer-Encoding: chunked\r\n\r\n15\r\nhub.mode=authenticate\r\n0\r\n\r\n"
      for (const request of [`POST / HTTP/1.1\r\n${chunks}`, "GET /?hub.mode=authenticate HTTP/1.1\r\n\r\n"]) {
        const bytes = request.replace("\r\n", `\r\nHost: a\r\n${authorization}\r\n${upgrade}\r\n`)
        const { connection, status } = yield* exchange(bytes)
        assert.deepStrictEqual([status, connection], [204, "close"], request)
      }
    }))

  it.live("rejects expectations other than 100-continue", () =>
    Effect.gen(function*() {
      const answer = yield* exchange("POST / HTTP/1.1\r\nHost: a\r\nExpect: cake\r\nContent-Length: 0\r\n\r\n")
      assert.strictEqual(
        `${answer.status} ${answer.body}`,
        "417 This server supports no expectation except 100-continue; leave the Expect header out."
      )
    }))

  it.live("lets a client wait for 100-continue", () =>
    Effect.gen(function*() {
      const { connect } = yield* serveRoutes({})
      const connection = yield* connect
      const body = "hub.mode=authenticate"
      yield* connection.send(
        `POST / HTTP/1.1\r\nHost: a\r\n${authorization}\r\nExpect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`
      )
      assert.strictEqual((yield* connection.receive()).status, 100)
      yield* connection.send(body)
      assert.strictEqual((yield* connection.receive()).status, 204)
    }))
})
