import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { Hub, type ReplayRequest } from "#actors/operations/Hub.ts"
import { feed, headers, hook, lines, started, subscribe, watched } from "#test/support/HubCalls.ts"
import { caller, documentOf, hangs, layer, type SimulatedWeb } from "#test/support/SimulatedWeb.ts"

const replay = Effect.fnUntraced(function*(change: Partial<ReplayRequest> = {}) {
  const request = { caller, topic: feed, callback: hook("good"), count: 1, async: false, ...change }
  return yield* (yield* Hub).replay(request)
})

/** The sentence of a refusal, once the time that it takes has passed. */
const refused = Effect.fnUntraced(function*(effect: Effect.Effect<unknown, { readonly message: string }, Hub>) {
  const fiber = yield* Effect.forkChild(Effect.flip(effect))
  yield* TestClock.adjust("13 seconds")
  return (yield* Fiber.join(fiber)).message
})

/** Waits for the answer while the time passes. */
const done = Effect.fnUntraced(function*<E>(effect: Effect.Effect<void, E, Hub>) {
  const fiber = yield* Effect.forkChild(effect)
  yield* TestClock.adjust("1 second")
  assert.isDefined(fiber.pollUnsafe(), "it has no answer yet")
  return yield* Fiber.join(fiber)
})

const posts = (web: SimulatedWeb["Service"]) => lines(web, "post").map((line) => line.replace(/^\S+ /, ""))

describe("Hub.replay", () => {
  it.effect("sends the newest entries again, to one callback, and answers after the delivery", () =>
    Effect.gen(function*() {
      const web = yield* watched("good", "other")
      web.publish(feed, ["c", "b", "first"])
      yield* TestClock.adjust("61 seconds")
      web.log.length = 0
      yield* done(replay())
      yield* done(replay({ count: 50 }))
      assert.deepStrictEqual(posts(web), [
        "post good.hooks.example/ c try 0",
        "post good.hooks.example/ c,b,first try 0"
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("takes a sequence, a credit and an id like any other notification", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      yield* done(replay())
      web.publish(feed, ["b", "first"])
      yield* TestClock.adjust("61 seconds")
      assert.deepStrictEqual(headers(web, "good", "X-Windhover-Sequence"), ["1", "2"])
      assert.deepStrictEqual(headers(web, "good", "X-Service-Credits"), ["-1", "-2"])
      assert.strictEqual(new Set(headers(web, "good", "X-Windhover-Notification-Id")).size, 2)
    }).pipe(Effect.provide(layer)))

  it.effect("sends a document other than a feed whole", () =>
    Effect.gen(function*() {
      const web = yield* started
      const body = Buffer.from("<hello")
      web.serve(feed, () => Effect.succeed({ ...documentOf([]), headers: { "content-type": "text/plain" }, body }))
      yield* subscribe("good")
      yield* TestClock.adjust("1 second")
      yield* done(replay({ count: 3 }))
      assert.deepStrictEqual(web.parcels.map((parcel) => [parcel.contentType, Buffer.from(parcel.body).toString()]), [
        ["text/plain", "<hello"]
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("lets 64 MiB of documents wait for an account, and none for the null device", () =>
    Effect.gen(function*() {
      const web = yield* started
      const body = new Uint8Array(8 << 20)
      web.serve(feed, () => Effect.succeed({ ...documentOf([]), headers: { "content-type": "text/plain" }, body }))
      yield* subscribe("good")
      yield* subscribe("null", { callback: "http://localhost:8080/dev/null" })
      yield* TestClock.adjust("1 second")
      web.answer(hook("good"), hangs)
      for (let i = 0; i < 8; i++) yield* replay({ async: true })
      const refusal = Effect.map(
        Effect.flip(replay({ async: true })),
        ({ message, reason }) => [reason._tag, message.slice(0, 8)]
      )
      assert.deepStrictEqual(yield* refusal, ["Throttled", "67108864"])
      for (let i = 0; i < 30; i++) yield* done(replay({ callback: "http://localhost:8080/dev/null" }))
      assert.deepStrictEqual(yield* refusal, ["Throttled", "67108864"])
    }).pipe(Effect.provide(layer)))

  it.effect("reports the callback's answer, and retries", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      web.answer(hook("good"), (_, attempt) => Effect.succeed(attempt === 0 ? 500 : 200))
      assert.strictEqual(
        yield* refused(replay()),
        "The notification was not delivered: The callback answered 500. It is tried again."
      )
      assert.deepStrictEqual(posts(web), [
        "post good.hooks.example/ first try 0",
        "post good.hooks.example/ first try 1"
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("with async answers at once", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      web.answer(hook("good"), hangs)
      yield* replay({ async: true })
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(posts(web), ["post good.hooks.example/ first try 0"])
      yield* TestClock.adjust("2 minutes") // until it is given up
    }).pipe(Effect.provide(layer)))

  it.effect("queues behind waiting notifications, and reports the queue", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      web.answer(hook("good"), () => Effect.succeed(500))
      web.publish(feed, ["b", "first"])
      yield* TestClock.adjust("56 seconds")
      yield* TestClock.adjust("6 seconds")
      assert.strictEqual(
        yield* refused(replay()),
        "The notification waits behind others that the callback has not taken yet; it is sent after them."
      )
    }).pipe(Effect.provide(layer)))

  it.effect("does not pile up while a callback accepts no delivery", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      web.answer(hook("good"), hangs)
      for (let i = 0; i < 50; i++) yield* replay({ async: true })
      assert.match(yield* refused(replay({ async: true })), /^50 notifications or more wait for /)
    }).pipe(Effect.provide(layer)))

  it.effect("needs the subscription, active, and something to send", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      assert.match(
        yield* refused(replay({ callback: hook("nobody") })),
        /^You are not subscribed to ".*" with the callback/
      )
      assert.match(yield* refused(replay({ topic: "http://nobody.example/" })), /^You are not subscribed to /)
      assert.match(yield* refused(replay({ topic: "ftp://nobody.example/" })), /has the scheme "ftp:"/)
      web.publish("http://empty.example/", [])
      yield* subscribe("good", { topic: "http://empty.example/" })
      yield* TestClock.adjust("1 second")
      assert.strictEqual(
        yield* refused(replay({ topic: "http://empty.example/" })),
        "Nothing is stored of \"http://empty.example/\" yet, so that there is nothing to replay."
      )
      web.verify(() => Effect.never)
      yield* subscribe("late", { verify: "async" })
      assert.match(yield* refused(replay({ callback: hook("late") })), /is pending; nothing is sent to it\.$/)
    }).pipe(Effect.provide(layer)))
})
