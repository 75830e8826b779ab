import { assert, layer } from "@effect/vitest"
import { Effect, Option, Redacted, Schedule } from "effect"
import { HttpServer } from "effect/http"
import type { AddressInfo } from "node:net"
import { createServer, type Feed, type Subscriber } from "pubsubhubbub"
import { Hub } from "#actors/operations/Hub.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import * as ConversationWorld from "#test/support/ConversationWorld.ts"
import { openFakeWeb } from "#test/support/FakeWeb.ts"

/** The next event of this name. Call before the action that causes the event. */
const next = <A>(subscriber: Subscriber, name: string): Promise<A> =>
  new Promise((resolve) => {
    subscriber.once(name, resolve)
  })

const listening = Effect.fnUntraced(function*(options: Parameters<typeof createServer>[0]) {
  const subscriber = yield* Effect.acquireRelease(
    Effect.promise(async () => {
      const subscriber = createServer(options)
      const listens = next(subscriber, "listen")
      subscriber.listen(0, "127.0.0.1")
      await listens
      return subscriber
    }),
    (subscriber) =>
      Effect.sync(() => {
        subscriber.server.close()
        subscriber.server.closeAllConnections()
      })
  )
  subscriber.callbackUrl = `http://127.0.0.1:${(subscriber.server.address() as AddressInfo).port}`
  return subscriber
})

/** Subscribes or unsubscribes. Fails when the response is neither 202 nor 204. */
const ask = (subscriber: Subscriber, mode: "subscribe" | "unsubscribe", topic: string, hub: string) =>
  Effect.promise(() =>
    new Promise<void>((resolve, reject) => {
      subscriber[mode](topic, hub, (error) => error === null ? resolve() : reject(error))
    })
  )

/** The unchanged client of npm over a real socket, with its own server and requests. */
layer(ConversationWorld.layer, { excludeTestServices: true })("pubsubhubbub 1.0.2, a subscriber of npm", (it) => {
  const converse = Effect.fnUntraced(function*(options: Parameters<typeof createServer>[0], path: string) {
    const { address } = yield* HttpServer.HttpServer
    const { publish, ready } = yield* Hub
    yield* ready.pipe(Effect.repeat({ until: (awake) => awake, schedule: Schedule.spaced("10 millis") }))
    const outside = yield* openFakeWeb
    const subscriber = yield* listening(options)
    const topic = `${outside.url}/feed`
    const hub = `http://127.0.0.1:${"port" in address ? address.port : 0}${path}`
    const page = (body: string) => ({ status: 200, contentType: "application/rss+xml", body })
    const feed = (...ids: ReadonlyArray<string>) =>
      `<rss version="2.0"><channel><title>T</title>${
        ids.map((id) => `<item><guid>${id}</guid><title>Entry ${id}</title></item>`).join("")
      }</channel></rss>`
    outside.publish("/feed", page(feed("one")))

    const agreed = next<{ readonly topic: string; readonly lease: number }>(subscriber, "subscribe")
    yield* ask(subscriber, "subscribe", topic, hub)
    const subscribed = yield* Effect.promise(() => agreed)
    assert.strictEqual(subscribed.topic, topic)

    const feedEvent = next<Feed>(subscriber, "feed")
    // the first fetch makes no notification, and on the API face it follows the subscription
    yield* (yield* ResourceStore).find(topic).pipe(
      Effect.repeat({
        until: (resource) => Option.isSome(resource) && resource.value.lastParse !== undefined,
        schedule: Schedule.spaced("10 millis")
      })
    )
    outside.publish("/feed", page(feed("two", "one")))
    yield* publish([topic])
    const received = yield* Effect.promise(() => feedEvent)
    assert.strictEqual(received.topic, topic)

    const gone = next<{ readonly topic: string }>(subscriber, "unsubscribe")
    yield* ask(subscriber, "unsubscribe", topic, hub)
    assert.strictEqual((yield* Effect.promise(() => gone)).topic, topic)
    return { received, lease: subscribed.lease, sent: feed("two", "one") }
  })

  it.effect("subscribes, verifies, receives and unsubscribes at the open hub", () =>
    Effect.gen(function*() {
      const { received, sent } = yield* converse({ leaseSeconds: 100_000 }, "/hub")
      assert.strictEqual(received.hub, "http://windhover.test/hub")
      assert.strictEqual(received.feed.toString(), sent)
      assert.strictEqual(received.headers["content-type"], "application/rss+xml")
    }))

  it.effect("does the same at the API, after the authentication challenge", () =>
    Effect.gen(function*() {
      const accounts = yield* AccountStore
      yield* accounts.create("npm", Redacted.make("a password"))
      const { received } = yield* converse({ username: "npm", password: "a password" }, "/")
      assert.strictEqual(received.hub, "http://windhover.test/hub")
      assert.strictEqual(received.headers["content-type"], "application/atom+xml")
      assert.match(received.feed.toString(), /<id>two<\/id>(?!.*<id>one<)/s)
    }))
})
