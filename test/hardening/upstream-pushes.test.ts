import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { createHmac } from "node:crypto"
import { setImmediate } from "node:timers/promises"
import type { Hub } from "#actors/operations/Hub.ts"
import type { PushReceiver } from "#actors/operations/HubCallbacks.ts"
import { serveRoutes } from "#test/support/RoutesServer.ts"

const callback = "A".repeat(32)
const secret = "the secret of this subscription"
const receiver: PushReceiver = { resourceId: 1, partition: 1, secret, hub: "https://hub.example/" }

/** Of another hub, and another one of the same. */
const other = "O".repeat(32)
const sibling = "S".repeat(32)
const receivers: ReadonlyMap<string, PushReceiver> = new Map([
  [callback, receiver],
  [sibling, { ...receiver, resourceId: 2 }],
  [other, { ...receiver, resourceId: 3, hub: "https://hub.another.example/" }]
])

/** A hub that counts what gets through to it. */
const counting = (push: Hub["Service"]["acceptPush"] = () => Effect.void) => {
  const got = { pushes: 0, lookups: 0 }
  const hub: Partial<Hub["Service"]> = {
    findReceiver: (given) =>
      Effect.sync(() => {
        got.lookups++
        return receivers.get(given)
      }),
    confirmIntent: () => Effect.succeed(false),
    acceptPush: (to, document) =>
      Effect.suspend(() => {
        got.pushes++
        return push(to, document)
      })
  }
  return { got, hub }
}

const signed = (body: string, key = secret) => `sha256=${createHmac("sha256", key).update(body).digest("hex")}`

const post = (path: string, headers: ReadonlyArray<string>, body: string) =>
  [`POST ${path} HTTP/1.1`, "Host: a", ...headers, "", body].join("\r\n")

const pushOf = (body: string, more: ReadonlyArray<string> = [`X-Hub-Signature: ${signed(body)}`]) =>
  pushTo(callback, body, more)

const pushTo = (to: string, body: string, more: ReadonlyArray<string> = [`X-Hub-Signature: ${signed(body)}`]) =>
  post(`/upstream/${to}`, [`Content-Length: ${Buffer.byteLength(body)}`, ...more], body)

/** Signature of a document that never arrives whole. */
const anySignature = "X-Hub-Signature: sha256=00"

/** The header of a document of 100 bytes, and the first of them. */
const dripTo = (to: string) => post(`/upstream/${to}`, ["Content-Length: 100", anySignature], "x")

describe("pushes of a hostile hub", () => {
  it.live("come to nothing without the right signature, and are answered alike", () =>
    Effect.gen(function*() {
      const { got, hub } = counting()
      const { connect } = yield* serveRoutes(hub)
      const connection = yield* connect
      const body = "<feed/>"
      const right = signed(body)
      const attempts = [
        [`X-Hub-Signature: ${signed(body, "another secret")}`],
        [`X-Hub-Signature: ${right.slice(0, -2)}`],
        [`X-Hub-Signature: ${right}00`],
        [`X-Hub-Signature: ${right.replace("sha256", "sha1")}`],
        [`X-Hub-Signature: ${right.replace("sha256", "__proto__")}`],
        [`X-Hub-Signature-256: ${signed(body, "x")}`, `X-Hub-Signature: ${right}`],
        [`X-Hub-Signature: ${signed("<feed></feed>")}`]
      ]
      for (const headers of attempts) {
        yield* connection.send(pushOf(body, headers))
        const answer = yield* connection.receive()
        assert.deepStrictEqual([answer.status, answer.body], [202, ""])
      }
      assert.strictEqual(got.pushes, 0)
      yield* connection.send(pushOf(body))
      assert.strictEqual((yield* connection.receive()).status, 202)
      assert.strictEqual(got.pushes, 1)
    }))

  it.live("without a signature are refused unread", () =>
    Effect.gen(function*() {
      const { got, hub } = counting()
      const { connect } = yield* serveRoutes(hub)
      for (const headers of [[], ["X-Hub-Signature:"]]) {
        const connection = yield* connect
        yield* connection.send(post(`/upstream/${callback}`, ["Content-Length: 8000000", ...headers], ""))
        const answer = yield* connection.receive()
        assert.deepStrictEqual([answer.status, answer.body], [
          400,
          "The document has no X-Hub-Signature, although this subscription has a hub.secret; sign it and send it again."
        ])
      }
      assert.strictEqual(got.pushes, 0)
    }))

  it.live("to a callback that was guessed are gone, and what cannot be one is not even looked up", () =>
    Effect.gen(function*() {
      const { got, hub } = counting()
      const { connect } = yield* serveRoutes(hub)
      const connection = yield* connect
      const paths = [
        `/upstream/${"B".repeat(32)}`,
        `/upstream/${"A".repeat(31)}`,
        "/upstream/",
        `/upstream/${callback}/x`
      ]
      const statuses: Array<number> = []
      for (const path of paths) {
        yield* connection.send(post(path, ["Content-Length: 1"], "x"))
        statuses.push((yield* connection.receive()).status)
        yield* connection.send(`GET ${path}?hub.mode=subscribe&hub.topic=a&hub.challenge=c HTTP/1.1\r\nHost: a\r\n\r\n`)
        statuses.push((yield* connection.receive()).status)
      }
      assert.deepStrictEqual(statuses, [410, 404, 410, 404, 410, 404, 410, 404])
      assert.deepStrictEqual(got, { pushes: 0, lookups: 1 })
    }))

  it.live("of 100 MB are refused by their length, or where they grow beyond what is stored", () =>
    Effect.gen(function*() {
      const { got, hub } = counting()
      const { connect } = yield* serveRoutes(hub)
      const announced = yield* connect
      yield* announced.send(post(`/upstream/${callback}`, ["Content-Length: 100000000", anySignature], ""))
      assert.strictEqual((yield* announced.receive()).status, 413)
      const chunked = yield* connect
      yield* chunked.send(post(`/upstream/${callback}`, ["Transfer-Encoding: chunked", anySignature], ""))
      const chunk = Buffer.concat([Buffer.from("10000\r\n"), Buffer.alloc(0x10000, "x"), Buffer.from("\r\n")])
      for (let i = 0; i < 130; i++) yield* chunked.send(chunk)
      assert.strictEqual((yield* chunked.receive()).status, 413)
      const packed = yield* connect
      yield* packed.send(pushOf("x", ["Content-Encoding: gzip", anySignature]))
      assert.strictEqual((yield* packed.receive()).status, 415)
      assert.strictEqual(got.pushes, 0)
    }))

  it.live("in a flood are asked to come later", () =>
    Effect.gen(function*() {
      const { got, hub } = counting()
      const { connect } = yield* serveRoutes(hub)
      const connection = yield* connect
      const statuses: Array<number> = []
      for (let i = 0; i < 200; i++) {
        yield* connection.send(pushOf("x"))
        const answer = yield* connection.receive()
        statuses.push(answer.status)
        if (answer.status === 429) assert.match(answer.headers.get("retry-after") ?? "", /^\d+$/)
      }
      assert.include(statuses, 429)
      assert.isAtLeast(got.pushes, 120)
      assert.strictEqual(got.pushes, statuses.filter((status) => status === 202).length)
    }))

  it.live("that drip take the places of their callback only, and a flood of slow ones those of its hub's site", () =>
    Effect.gen(function*() {
      const { got, hub } = counting()
      const all = yield* Deferred.make<void>()
      const receiver = (given: string) =>
        Effect.tap(hub.findReceiver!(given), () => got.lookups === 32 ? Deferred.succeed(all, undefined) : Effect.void)
      const { connect } = yield* serveRoutes({ ...hub, findReceiver: receiver })
      yield* Effect.forEach(
        Array.from({ length: 32 }),
        () => Effect.tap(connect, ({ send }) => send(dripTo(callback)))
      )
      yield* Deferred.await(all)
      const connection = yield* connect
      const statuses: Array<number> = []
      for (const to of [other, sibling, callback]) {
        yield* connection.send(pushTo(to, "x"))
        statuses.push((yield* connection.receive()).status)
      }
      assert.deepStrictEqual(statuses, [202, 202, 503])
      assert.strictEqual(got.pushes, 2)
    }))

  it.effect("that do not arrive within ten seconds give their places up", () =>
    Effect.gen(function*() {
      const { got, hub } = counting()
      const { connect } = yield* serveRoutes(hub)
      const dripping = yield* Effect.forEach(Array.from({ length: 2 }), () => connect)
      yield* Effect.forEach(dripping, ({ send }) => send(dripTo(callback)))
      const answered = yield* Effect.forkChild(
        Effect.forEach(dripping, ({ receive }) => Effect.map(receive(), ({ status }) => status))
      )
      while (answered.pollUnsafe() === undefined) {
        yield* TestClock.adjust("10 seconds")
        yield* Effect.promise(() => setImmediate())
      }
      assert.deepStrictEqual(yield* Fiber.join(answered), [408, 408])
      const connection = yield* connect
      yield* connection.send(pushOf("x"))
      assert.strictEqual((yield* connection.receive()).status, 202)
      assert.strictEqual(got.pushes, 1)
    }))

  it.live("to callbacks that are made up are not looked up for ever", () =>
    Effect.gen(function*() {
      const { got, hub } = counting()
      const { connect } = yield* serveRoutes(hub)
      const connection = yield* connect
      const statuses: Array<number> = []
      for (let i = 0; i < 400; i++) {
        yield* connection.send(pushTo(String(i).padStart(32, "A"), "x"))
        statuses.push((yield* connection.receive()).status)
      }
      assert.deepStrictEqual([...new Set(statuses)], [410, 429])
      assert.isAtLeast(got.lookups, 300)
      assert.strictEqual(got.lookups, statuses.filter((status) => status === 410).length)
    }))

  it.live("that take long to store keep their places, two of a callback", () =>
    Effect.gen(function*() {
      const open = yield* Deferred.make<void>()
      const both = yield* Deferred.make<void>()
      let begun = 0
      const { got, hub } = counting(() =>
        Effect.suspend(() =>
          Effect.andThen(++begun === 2 ? Deferred.succeed(both, undefined) : Effect.void, Deferred.await(open))
        )
      )
      const { connect } = yield* serveRoutes(hub)
      const held = yield* Effect.forEach(Array.from({ length: 2 }), () =>
        Effect.tap(connect, (connection) => connection.send(pushOf("x"))))
      yield* Deferred.await(both)
      const late = yield* connect
      yield* late.send(pushOf("x"))
      const refused = yield* late.receive()
      assert.deepStrictEqual([refused.status, refused.headers.get("retry-after")], [503, "5"])
      yield* Deferred.succeed(open, undefined)
      const statuses = yield* Effect.forEach(held, (connection) =>
        Effect.map(connection.receive(), ({ status }) =>
          status))
      assert.deepStrictEqual(statuses, [202, 202])
      assert.strictEqual(got.pushes, 2)
    }))
})
