import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Layer, Redacted, Scope } from "effect"
import { TestClock } from "effect/testing"
import type { Hub, Representation } from "#actors/operations/Hub.ts"
import type { Listener } from "#actors/stream/Listeners.ts"
import type { Document, News } from "#domain/delivery/Notification.ts"
import { type Right, rights, tokenRights } from "#domain/Account.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { describeApi } from "#http/OpenApi.ts"
import { accounts, basic, caller } from "#test/support/Api.ts"
import { serveRoutes } from "#test/support/RoutesServer.ts"

const resource = 5
const topic = "http://feeds.example/a"

const past = (ids: ReadonlyArray<string>): Representation => ({
  status: { feed: topic },
  entries: ids.map((id) => ({ id }))
})

const news = (...ids: ReadonlyArray<string>): News => ({ _tag: "Entries", entries: ids.map((id) => ({ id })) })

/** A hub with one resource whose last sequence is 3. The test sends notifications to each listener. */
const makeHub = (ids: ReadonlyArray<string> = [], document?: Document) => {
  const listeners = new Set<Listener>()
  /** The orders of the retrieves. */
  const orders: Array<string | undefined> = []
  const resumed: Array<Listener> = []
  const waiting: Array<() => void> = []
  const changed = () => {
    for (const look of waiting.splice(0)) look()
  }
  const representation = { ...past(ids), ...(document !== undefined && { document }) }
  const hub: Partial<Hub["Service"]> = {
    follow: ({ order }) => {
      orders.push(order)
      return Effect.succeed({
        past: representation,
        heads: new Map([[resource, 3]]),
        topics: new Map([[resource, topic]])
      })
    },
    retrieve: ({ order }) => {
      orders.push(order)
      return Effect.succeed(representation)
    },
    attach: (listener, onAttached) =>
      Effect.sync(() => {
        listeners.add(listener)
        changed()
        onAttached({
          resume: () => {
            resumed.push(listener)
            changed()
          },
          detach: () => {
            listeners.delete(listener)
            changed()
          }
        })
      })
  }
  const until = (condition: () => boolean) =>
    Effect.callback<void>((resume) => {
      const look = () => {
        if (condition()) resume(Effect.void)
        else waiting.push(look)
      }
      look()
    })
  /** Resolves when `count` listeners are registered. */
  const listening = (count: number) => until(() => listeners.size === count)
  /** Resolves when the listener was resumed at its start and once more. */
  const resumedTwice = (listener: Listener) => until(() => resumed.filter((one) => one === listener).length === 2)
  const notify = (listener: Listener, sequence: number, content: News) => {
    listener.cursors.set(resource, sequence)
    return listener.take({
      sequence,
      notification: { id: sequence, resourceId: resource, createdAt: 0, status: {}, news: content }
    })
  }
  const first = () => listeners.values().next().value ?? assert.fail("no listener")
  return { hub, listening, notify, first, orders, resumed, resumedTwice }
}

const query = `hub.mode=retrieve&hub.topic=${encodeURIComponent(topic)}`

const get = (path: string, ...headers: ReadonlyArray<string>) =>
  [`GET ${path} HTTP/1.1`, "Host: a", `Authorization: ${basic().authorization}`, ...headers, "", ""].join("\r\n")

const events = (...headers: ReadonlyArray<string>) => get(`/stream?${query}`, "Accept: text/event-stream", ...headers)
const lines = get(`/stream?${query}&wait=stream&format=json`)
const described = describeApi({ baseUrl: "", hubOpen: true }, "1.0.0").paths as {
  readonly "/stream": { readonly get: { readonly responses: object } }
}
const poll = get(`/stream?${query}&wait=poll&format=json`)

const item = (id: string) =>
  `{"status":{"feed":"${topic}"},"title":"","updated":null,"id":"${topic}","items":[{"id":"${id}"}]}`
const empty = `{"status":{"feed":"${topic}"},"title":"","updated":null,"id":"${topic}","items":[]}`

describe("a stream of server-sent events", () => {
  it.effect("has a heartbeat every 15 s", () =>
    Effect.gen(function*() {
      const { first, hub, listening, notify } = makeHub(["a"])
      const { connect } = yield* serveRoutes(hub)
      const connection = yield* connect
      yield* connection.send(events())
      yield* connection.receiveHead
      assert.deepStrictEqual(yield* connection.receiveLines(4), [
        "event: notification",
        "id: 3",
        `data: ${item("a")}`,
        ""
      ])
      yield* listening(1)
      yield* TestClock.adjust("14 seconds")
      notify(first(), 4, news("b"))
      assert.deepStrictEqual((yield* connection.receiveLines(4))[2], `data: ${item("b")}`)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* connection.receiveLines(2), [":", ""])
      yield* TestClock.adjust("30 seconds")
      assert.deepStrictEqual(yield* connection.receiveLines(4), [":", "", ":", ""])
    }))

  it.effect("ends when its token is revoked; other streams stay open", () =>
    Effect.gen(function*() {
      const { hub, listening } = makeHub(["a"])
      let granted: ReadonlyArray<string> = ["token:1"]
      const store = Layer.mock(AccountStore, {
        authenticate: (_, secret) =>
          Effect.succeedSome({ ...caller(), credential: Redacted.value(secret) === "wonder" ? "token:1" : "token:2" }),
        rightsOf: () => Effect.sync(() => new Map(granted.map((name) => [name, new Set(["retrieve" as const])])))
      })
      const { connect } = yield* serveRoutes(hub, store)
      const [mine, other] = [yield* connect, yield* connect]
      yield* mine.send(events())
      yield* mine.receiveHead
      granted = ["token:1", "token:2"]
      yield* other.send(events().replace(basic().authorization, basic("other").authorization))
      yield* other.receiveHead
      yield* listening(2)
      yield* TestClock.adjust("15 seconds")
      yield* mine.receiveLines(6)
      granted = ["token:2"]
      yield* TestClock.adjust("15 seconds")
      yield* mine.closed
      yield* listening(1)
      yield* other.receiveLines(6)
      assert.deepStrictEqual(yield* other.receiveLines(2), [":", ""])
    }))

  it.effect("of all accounts ends when its account is no operator's any more", () =>
    Effect.gen(function*() {
      let granted: ReadonlyArray<Right> = tokenRights
      const store = Layer.mock(AccountStore, {
        authenticate: () => Effect.succeedSome(caller(granted)),
        rightsOf: () => Effect.sync(() => new Map([["token:1", new Set(granted)]]))
      })
      const { connect } = yield* serveRoutes({}, store)
      const [all, own] = [yield* connect, yield* connect]
      yield* all.send(get("/api/live?all=true"))
      yield* all.receiveHead
      yield* own.send(get("/api/live"))
      yield* own.receiveHead
      granted = rights
      yield* TestClock.adjust("15 seconds")
      yield* all.closed
      yield* TestClock.adjust("15 seconds")
      assert.deepStrictEqual(yield* own.receiveLines(4), [":", "", ":", ""])
    }))

  it.effect("differs from streams of lines and Atom documents, with heartbeats between documents", () =>
    Effect.gen(function*() {
      const { first, hub, listening, notify, orders } = makeHub(["a"])
      const { connect } = yield* serveRoutes(hub)
      const [json, atom] = [yield* connect, yield* connect]
      yield* json.send(lines)
      yield* json.receiveHead
      yield* json.receiveLines(1)
      yield* listening(1)
      yield* TestClock.adjust("30 seconds")
      notify(first(), 4, news("b"))
      const [line = ""] = yield* json.receiveLines(1)
      assert.deepStrictEqual([line, JSON.parse(line)], [`  ${item("b")}`, JSON.parse(item("b"))])
      yield* atom.send(get(`/stream?${query}&wait=stream`))
      yield* atom.receiveHead
      yield* listening(2)
      yield* atom.receiveLines(1)
      yield* TestClock.adjust("15 seconds")
      assert.deepStrictEqual(yield* atom.receiveLines(1), [""])
      assert.deepStrictEqual(orders, [undefined, undefined])
    }))

  it.effect("removes its listener when the client disconnects", () =>
    Effect.gen(function*() {
      const { hub, listening } = makeHub(["a"])
      const { connect } = yield* serveRoutes(hub)
      const scope = yield* Scope.make()
      const connection = yield* Scope.provide(connect, scope)
      yield* connection.send(events())
      yield* listening(1)
      yield* Scope.close(scope, Exit.void)
      yield* listening(0)
    }))

  it.effect("is the last response of its connection: a further request ends both", () =>
    Effect.gen(function*() {
      const { first, hub, listening, notify } = makeHub(["a"])
      const { connect } = yield* serveRoutes(hub)
      const connection = yield* connect
      yield* connection.send(get("/?hub.mode=authenticate") + events())
      assert.strictEqual((yield* connection.receive()).status, 204)
      assert.strictEqual((yield* connection.receiveHead).status, 200)
      yield* connection.receiveLines(4)
      yield* listening(1)
      notify(first(), 4, news("b"))
      assert.deepStrictEqual((yield* connection.receiveLines(4))[2], `data: ${item("b")}`)
      yield* connection.send(get("/?hub.mode=authenticate"))
      yield* connection.closed
      yield* listening(0)
    }))

  it.effect("ends with unreadable bytes of its client, without a second response", () =>
    Effect.gen(function*() {
      const { hub, listening } = makeHub(["a"])
      const { connect } = yield* serveRoutes(hub)
      const connection = yield* connect
      yield* connection.send(events().replace("HTTP/1.1", "HTTP/1.0"))
      yield* listening(1)
      yield* connection.send("\u0016\u0003\u0001 hello\r\n\r\n")
      assert.strictEqual((yield* connection.receive()).body, `event: notification\nid: 3\ndata: ${item("a")}\n\n`)
      yield* listening(0)
    }))

  it.effect("has no chunks over HTTP/1.0", () =>
    Effect.gen(function*() {
      const { first, hub, listening } = makeHub(["a"])
      const { connect } = yield* serveRoutes(hub)
      const connection = yield* connect
      yield* connection.send(events().replace("HTTP/1.1", "HTTP/1.0"))
      yield* listening(1)
      yield* TestClock.adjust("15 seconds")
      first().fail()
      const { body, headers } = yield* connection.receive()
      assert.deepStrictEqual([headers.get("transfer-encoding"), body], [
        undefined,
        `event: notification\nid: 3\ndata: ${item("a")}\n\n:\n\n`
      ])
    }))

  it.effect("ends at shutdown, which does not wait", () =>
    Effect.gen(function*() {
      const { hub, listening } = makeHub(["a"])
      const scope = yield* Scope.make()
      const { connect } = yield* Scope.provide(serveRoutes(hub), scope)
      const streaming = yield* connect
      yield* streaming.send(events())
      yield* listening(1)
      // the clock stands still, so a grace period would never end
      yield* Scope.close(scope, Exit.void)
      yield* streaming.closed
    }))

  it.effect("ends when notifications are unreadable, and when the resource stops being a feed", () =>
    Effect.gen(function*() {
      const { first, hub, listening, notify } = makeHub(["a"])
      const { connect } = yield* serveRoutes(hub)
      const connection = yield* connect
      yield* connection.send(events())
      yield* listening(1)
      first().fail()
      yield* connection.closed
      const again = yield* connect
      yield* again.send(events())
      yield* listening(1)
      const document = { contentType: "text/html", body: Buffer.from("<p>") }
      assert.isFalse(notify(first(), 4, { _tag: "Document", document }))
      yield* again.closed
      yield* listening(0)
    }))

  it.effect("reports lost notifications with a cursor to resume from", () =>
    Effect.gen(function*() {
      const { first, hub, listening, notify } = makeHub(["a"])
      const { connect } = yield* serveRoutes(hub)
      const connection = yield* connect
      yield* connection.send(events("Last-Event-ID: 1"))
      yield* connection.receiveHead
      yield* listening(1)
      assert.deepStrictEqual([...first().cursors], [[resource, 1]])
      first().cursors.set(resource, 3)
      first().missed(resource, 2)
      notify(first(), 4, news("b"))
      assert.deepStrictEqual(yield* connection.receiveLines(8), [
        "event: gap",
        "id: 3",
        "data: {\"missed\":2,\"message\":\"Notifications after your last event are no longer kept; " +
        "hub.mode=retrieve returns the stored entries.\"}",
        "",
        "event: notification",
        "id: 4",
        `data: ${item("b")}`,
        ""
      ])
    }))
})

describe("a client that does not read", () => {
  const large = (megabytes: number): News => ({
    _tag: "Document",
    document: {
      contentType: "application/json",
      body: Buffer.from(JSON.stringify("x".repeat(megabytes * 1024 * 1024)))
    }
  })

  it.effect("receives no more events and is disconnected after 30 s; other clients stay connected", () =>
    Effect.gen(function*() {
      const { first, hub, listening, resumed, notify } = makeHub(["a"])
      const { connect } = yield* serveRoutes(hub)
      const [slow, other] = [yield* connect, yield* connect]
      yield* slow.send(lines)
      yield* slow.receiveHead
      yield* slow.receiveLines(1)
      yield* listening(1)
      const listener = first()
      yield* other.send(lines)
      yield* other.receiveHead
      yield* listening(2)
      yield* slow.pause
      assert.isFalse(notify(listener, 4, large(16)))
      yield* TestClock.adjust("15 seconds")
      assert.strictEqual(resumed.filter((one) => one === listener).length, 1) // at its start
      yield* TestClock.adjust("15 seconds")
      yield* listening(1)
      assert.notStrictEqual(first(), listener)
      assert.isTrue(notify(first(), 4, news("b")))
      assert.deepStrictEqual((yield* other.receiveLines(2)).map((line) => line.trimStart()), [item("a"), item("b")])
    }))

  it.effect("continues when it reads again in time", () =>
    Effect.gen(function*() {
      const { first, hub, listening, resumedTwice, notify } = makeHub(["a"])
      const { connect } = yield* serveRoutes(hub)
      const slow = yield* connect
      yield* slow.send(lines)
      yield* slow.receiveHead
      yield* slow.receiveLines(1)
      yield* listening(1)
      yield* slow.pause
      assert.isFalse(notify(first(), 4, large(4)))
      yield* TestClock.adjust("15 seconds")
      yield* slow.goOn
      const [line = ""] = yield* slow.receiveLines(1)
      assert.isAbove(line.length, 4 * 1024 * 1024)
      yield* resumedTwice(first())
      yield* TestClock.adjust("1 minute")
      assert.isTrue(notify(first(), 5, news("c")))
      assert.deepStrictEqual((yield* slow.receiveLines(1)).map((line) => line.trimStart()), [item("c")])
    }))
})

describe("a long poll", () => {
  it.effect("ends after 55 s with the stored content", () =>
    Effect.gen(function*() {
      const { hub, listening } = makeHub()
      const { connect } = yield* serveRoutes(hub)
      const connection = yield* connect
      yield* connection.send(poll)
      yield* listening(1)
      yield* TestClock.adjust("55 seconds")
      const { body, status } = yield* connection.receive()
      assert.deepStrictEqual([status, body], [200, empty])
      yield* listening(0)
    }))

  it.effect("has a response of the OpenAPI document after the timeout", () =>
    Effect.gen(function*() {
      const { hub, listening } = makeHub()
      const { connect } = yield* serveRoutes(hub)
      const connection = yield* connect
      const statuses: Array<number> = []
      for (let etag = "\"other\""; statuses.length < 2;) {
        yield* connection.send(
          get(`/stream?${query}&wait=poll&format=json`, `If-None-Match: ${etag}`)
        )
        yield* listening(1)
        yield* TestClock.adjust("55 seconds")
        const answer = yield* connection.receive()
        statuses.push(answer.status)
        etag = answer.headers.get("etag") ?? ""
        yield* listening(0)
      }
      assert.deepStrictEqual(statuses, [200, 304])
      const successes = Object.keys(described["/stream"].get.responses).filter((status) => status < "4")
      assert.deepStrictEqual(successes, ["200", "304"])
    }))

  it.effect("responds with the notification when its entries are older than the requested ones", () =>
    Effect.gen(function*() {
      const { first, hub, listening, notify, orders } = makeHub()
      const { connect } = yield* serveRoutes(hub)
      const connection = yield* connect
      yield* connection.send(poll)
      yield* listening(1)
      assert.isTrue(notify(first(), 4, { _tag: "Failure" }))
      assert.isFalse(notify(first(), 5, news("old")))
      assert.strictEqual((yield* connection.receive()).body, item("old"))
      assert.deepStrictEqual(orders, ["stored", "stored"])
    }))

  it.effect("with the event id of the last response gets each later notification, one per poll", () =>
    Effect.gen(function*() {
      const { first, hub, listening, notify } = makeHub(["a"])
      const { connect } = yield* serveRoutes(hub)
      const connection = yield* connect
      const ask = Effect.fnUntraced(function*(lastEventId: string, during: Effect.Effect<unknown>) {
        yield* connection.send(get(`/stream?${query}&wait=poll&format=json&lastEventId=${lastEventId}`))
        yield* during
        const { body, headers } = yield* connection.receive()
        yield* listening(0)
        return [body, headers.get("x-windhover-last-event-id")]
      })
      const notified = (sequence: number, content: News) =>
        Effect.andThen(listening(1), Effect.sync(() => assert.isFalse(notify(first(), sequence, content))))
      assert.deepStrictEqual(yield* ask("", Effect.void), [item("a"), "3"])
      const cursors: Array<unknown> = []
      const behind = Effect.andThen(listening(1), Effect.sync(() => cursors.push(...first().cursors)))
      assert.deepStrictEqual(yield* ask("1", Effect.andThen(behind, notified(2, news("updated")))), [
        item("updated"),
        "2"
      ])
      assert.deepStrictEqual(cursors, [[resource, 1]])
      assert.deepStrictEqual(yield* ask("3", Effect.andThen(listening(1), TestClock.adjust("55 seconds"))), [
        empty,
        "3"
      ])
      assert.deepStrictEqual(yield* ask("9", Effect.void), [item("a"), "3"])
      const lost = Effect.andThen(listening(1), Effect.sync(() => first().missed(resource, 2)))
      assert.deepStrictEqual(yield* ask("0", lost), [item("a"), "0"])
    }))

  it.effect("fails when notifications are unreadable", () =>
    Effect.gen(function*() {
      const { first, hub, listening } = makeHub()
      const { connect } = yield* serveRoutes(hub)
      const connection = yield* connect
      yield* connection.send(poll)
      yield* listening(1)
      first().fail()
      const { headers, status } = yield* connection.receive()
      assert.deepStrictEqual([status, headers.get("retry-after")], [503, "5"])
    }))

  it.effect("ends at shutdown", () =>
    Effect.gen(function*() {
      const { hub, listening } = makeHub()
      const scope = yield* Scope.make()
      const { connect } = yield* Scope.provide(serveRoutes(hub), scope)
      const connection = yield* connect
      yield* connection.send(poll)
      yield* listening(1)
      const closed = yield* Deferred.make<void>()
      yield* Effect.forkChild(Effect.ensuring(Scope.close(scope, Exit.void), Deferred.succeed(closed, undefined)))
      assert.strictEqual((yield* connection.receive()).body, empty)
      yield* Deferred.await(closed)
    }))
})

describe("open streams", () => {
  const statusOf = (hub: Partial<Hub["Service"]>, settings: Parameters<typeof serveRoutes>[2]) =>
    Effect.gen(function*() {
      const { connect } = yield* serveRoutes(hub, accounts, settings)
      const scope = yield* Scope.make()
      const open = Effect.gen(function*() {
        const connection = yield* Scope.provide(connect, scope)
        yield* connection.send(events())
        return yield* connection.receiveHead
      })
      const heads = [yield* open, yield* open, yield* open]
      return { heads, open, leave: Scope.close(scope, Exit.void) }
    })

  it.effect("are limited per account; a closed stream makes room", () =>
    Effect.gen(function*() {
      const { hub, listening } = makeHub(["a"])
      const { heads, leave } = yield* statusOf(hub, { maxStreamsPerAccount: 2 })
      assert.deepStrictEqual(heads.map(({ status }) => status), [200, 200, 429])
      assert.strictEqual(heads[2]?.headers.get("retry-after"), "30")
      yield* leave
      yield* listening(0)
    }))

  it.effect("are limited in total", () =>
    Effect.gen(function*() {
      const { hub } = makeHub(["a"])
      const { heads } = yield* statusOf(hub, { maxStreams: 2 })
      assert.deepStrictEqual(heads.map(({ status }) => status), [200, 200, 503])
    }))

  it.effect("make room when they end", () =>
    Effect.gen(function*() {
      const { hub, listening } = makeHub(["a"])
      const { connect } = yield* serveRoutes(hub, accounts, { maxStreamsPerAccount: 1 })
      for (let i = 0; i < 3; i++) {
        const scope = yield* Scope.make()
        const connection = yield* Scope.provide(connect, scope)
        yield* connection.send(events())
        assert.strictEqual((yield* connection.receiveHead).status, 200)
        yield* listening(1)
        yield* Scope.close(scope, Exit.void)
        yield* listening(0)
      }
    }))
})
