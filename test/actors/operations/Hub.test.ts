import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Option } from "effect"
import { TestClock } from "effect/testing"
import { Hub, type RetrieveRequest } from "#actors/operations/Hub.ts"
import { DeliveryLog } from "#domain/ports/DeliveryLog.ts"
import { FetchError } from "#domain/ports/Fetcher.ts"
import { type Intent, IntentNotConfirmed } from "#domain/ports/IntentVerifier.ts"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import type { Refusal } from "#domain/Refusal.ts"
import { matchAll } from "#domain/Search.ts"
import * as MemoryStores from "#test/fakes/MemoryStores.ts"
import { feed, headers, hook, lines, started, subscribe, unsubscribe, watched } from "#test/support/HubCalls.ts"
import { caller, documentOf, layer, statusOnly } from "#test/support/SimulatedWeb.ts"
import { entry, found } from "#test/support/StoreFixture.ts"

const refusalOf = <A, R>(effect: Effect.Effect<A, Refusal, R>) =>
  Effect.map(Effect.flip(effect), ({ reason }) => reason)

const retrieve = Effect.fnUntraced(
  function*(query: Partial<RetrieveRequest>) {
    return yield* (yield* Hub).retrieve({ caller, count: 10, ...query })
  }
)

const idsOf = ({ entries }: { readonly entries: ReadonlyArray<{ readonly id: string }> }) => entries.map(({ id }) => id)

const listed = Effect.gen(function*() {
  return (yield* (yield* Hub).list({ caller, page: 1, byPage: 20 })).items.map(({ subscription }) => subscription)
})

describe("Hub.subscribe", () => {
  it.effect("keeps one subscription after a repetition, with the new format and secret", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      yield* subscribe("good", { format: "json", secret: "s3cret" })
      web.publish(feed, ["b", "first"])
      yield* TestClock.adjust("61 seconds")
      const subscriptions = yield* listed
      assert.deepStrictEqual(subscriptions.map(({ format, secret }) => [format, secret]), [["json", "s3cret"]])
      assert.deepStrictEqual(web.parcels.map(({ contentType, secret }) => [contentType, secret]), [
        ["application/json; charset=utf-8", "s3cret"]
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("keeps the topic byte for byte, and fetches its canonical form once for all spellings", () =>
    Effect.gen(function*() {
      const web = yield* started
      yield* subscribe("one", { topic: "HTTP://Feeds.Example:80/a" })
      yield* subscribe("two")
      web.publish(feed, ["first"])
      yield* TestClock.adjust("1 second")
      web.publish(feed, ["b", "first"])
      yield* TestClock.adjust("61 seconds")
      assert.strictEqual(lines(web, "poll").length, 2)
      assert.deepStrictEqual(headers(web, "one", "X-PubSubHubbub-Topic"), ["HTTP://Feeds.Example:80/a"])
      assert.deepStrictEqual(headers(web, "two", "X-PubSubHubbub-Topic"), [feed])
    }).pipe(Effect.provide(layer)))

  it.effect("rejects impossible topics and callbacks", () =>
    Effect.gen(function*() {
      yield* started
      const topic = yield* refusalOf(subscribe("good", { topic: "ftp://feeds.example/" }))
      assert.include(topic.message, "hub.topic has the scheme \"ftp:\"")
      const callback = yield* refusalOf(subscribe("good", { callback: "nowhere" }))
      assert.include(callback.message, "hub.callback is not a URL")
      assert.deepStrictEqual(yield* listed, [])
    }).pipe(Effect.provide(layer)))

  it.effect("with sync asks the callback before it subscribes; without its consent there is no subscription", () =>
    Effect.gen(function*() {
      const web = yield* started
      const verifications: Array<Intent> = []
      web.verify((intent) => Effect.sync(() => void verifications.push(intent)))
      const { outcome } = yield* subscribe("good", { verify: "sync", verifyToken: "t" })
      assert.strictEqual(outcome, "done")
      assert.deepStrictEqual(verifications, [{
        mode: "subscribe",
        topic: feed,
        callback: hook("good"),
        leaseSeconds: 315_360_000,
        verifyToken: "t"
      }])
      web.verify(() => new IntentNotConfirmed({ message: "Your callback didn't echo the challenge." }))
      const reason = yield* refusalOf(subscribe("bad", { verify: "sync" }))
      assert.deepStrictEqual([reason._tag, reason.message], ["NotVerified", "Your callback didn't echo the challenge."])
      const asked = `You returned 404 to ${hook("url")}?hub.verify_token=`
      web.verify(() => new IntentNotConfirmed({ message: `${asked}s3cret&hub.lease_seconds=1` }))
      yield* refusalOf(subscribe("url", { verify: "sync" }))
      assert.deepStrictEqual((yield* listed).map(({ endpoint }) => endpoint), [hook("good")])
      const { items } = yield* DeliveryLog.use((log) => log.list({ accountId: caller.account.id, limit: 10 }))
      assert.deepStrictEqual(
        items.map(({ endpoint, message, outcome, reason, topic }) => [outcome, reason, endpoint, topic, message]),
        [
          ["denied", "refused-intent", hook("url"), feed, `${asked}***&hub.lease_seconds=1`],
          ["denied", "refused-intent", hook("bad"), feed, "Your callback didn't echo the challenge."]
        ]
      )
    }).pipe(Effect.provide(layer)))

  it.effect("with async answers at once, and is pending until the callback consents", () =>
    Effect.gen(function*() {
      const web = yield* started
      const consent = yield* Deferred.make<void>()
      web.verify(() => Deferred.await(consent))
      const { outcome } = yield* subscribe("good", { verify: "async" })
      yield* TestClock.adjust("1 second")
      assert.strictEqual(outcome, "pending")
      assert.deepStrictEqual((yield* listed).map(({ state }) => state), ["pending"])
      assert.deepStrictEqual(web.log, [])
      yield* Deferred.succeed(consent, undefined)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual((yield* listed).map(({ state }) => state), ["active"])
      assert.strictEqual(lines(web, "poll").length, 1)
    }).pipe(Effect.provide(layer)))

  it.effect("with async verifies again after the death of the verifying runner", () =>
    Effect.gen(function*() {
      const web = yield* started
      let verifications = 0
      web.verify(() => ++verifications === 1 ? Effect.never : Effect.void)
      yield* subscribe("good", { verify: "async", verifyToken: "t" })
      yield* TestClock.adjust("59 seconds")
      assert.deepStrictEqual([verifications, (yield* listed)[0]?.state], [1, "pending"])
      yield* TestClock.adjust("4 seconds")
      assert.deepStrictEqual([verifications, (yield* listed)[0]?.state], [2, "active"])
    }).pipe(Effect.provide(layer)))

  it.effect("with async limits the requests about one callback, and a rejected request leaves nothing", () =>
    Effect.gen(function*() {
      const web = yield* started
      web.verify(() => Effect.never)
      for (let i = 0; i < 10; i++) yield* subscribe("good", { verify: "async", verifyToken: `${i}` })
      const reason = yield* refusalOf(subscribe("good", { verify: "async", verifyToken: "10" }))
      assert.deepStrictEqual([reason._tag, (yield* listed).length], ["Throttled", 1])
    }).pipe(Effect.provide(layer)))

  it.effect("with async leaves nothing behind when the callback refuses, and an old subscription as it was", () =>
    Effect.gen(function*() {
      const web = yield* started
      yield* subscribe("old", { secret: "old" })
      web.verify(() => new IntentNotConfirmed({ message: "no" }))
      yield* subscribe("old", { verify: "async", secret: "new" })
      yield* subscribe("new", { verify: "async" })
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual((yield* listed).map(({ endpoint, secret, state }) => [endpoint, secret, state]), [
        [hook("old"), "old", "active"]
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("with retrieve runs the first fetch within the request", () =>
    Effect.gen(function*() {
      const web = yield* started
      web.publish(feed, ["b", "a"])
      const { representation } = yield* subscribe("good", { retrieve: true })
      assert.deepStrictEqual(representation?.entries.map(({ id }) => id), ["b", "a"])
      assert.strictEqual(representation?.status.http, "Fetched (ring) 200 60 and parsed 2/2 entries")
      assert.deepStrictEqual(lines(web, "post"), [])
    }).pipe(Effect.provide(layer)))

  it.effect("with retrieve rejects a request while hundreds of others wait", () =>
    Effect.gen(function*() {
      const web = yield* started
      web.serve(feed, () => Effect.never)
      const fibers = yield* Effect.forEach(
        Array.from({ length: 600 }),
        (_, i) => Effect.forkChild(Effect.result(subscribe(`n${i}`, { retrieve: true })))
      )
      yield* TestClock.adjust(1)
      const refused = fibers.filter((fiber) => fiber.pollUnsafe() !== undefined)
      assert.isAtLeast(refused.length, 600 - 2 * 256) // as many wait until the actor can look at its messages
      const { total } = yield* (yield* Hub).list({ caller, page: 1, byPage: 1, counted: true })
      assert.strictEqual(total, 600 - refused.length) // what was refused is taken back
      yield* TestClock.adjust("5 seconds")
      const outcomes = yield* Effect.forEach(fibers, (fiber) => Fiber.join(fiber))
      const reasons = outcomes.flatMap((one) => one._tag === "Failure" ? [one.failure.reason._tag] : [])
      assert.deepStrictEqual([reasons.length, [...new Set(reasons)]], [refused.length, ["Unavailable"]])
    }).pipe(Effect.provide(layer)))

  it.effect("with retrieve waits five seconds for the fetch, and succeeds in spite of a failed fetch", () =>
    Effect.gen(function*() {
      const web = yield* started
      web.serve(feed, () => Effect.never)
      const waiting = yield* Effect.forkChild(subscribe("good", { retrieve: true }))
      yield* TestClock.adjust("5 seconds")
      const slow = yield* Fiber.join(waiting)
      assert.deepStrictEqual([slow.outcome, slow.representation?.entries, slow.representation?.status.code], [
        "done",
        [],
        undefined
      ])
      const broken = "http://broken.example/"
      web.serve(
        broken,
        () => Effect.fail(new FetchError({ reason: { _tag: "Dns", message: "The host has no address." } }))
      )
      const { representation } = yield* subscribe("good", { topic: broken, retrieve: true })
      assert.deepStrictEqual([representation?.entries, representation?.status.code], [[], 0])
      assert.include(representation?.status.http ?? "", "The host has no address.")
    }).pipe(Effect.provide(layer)))
})

describe("Hub.unsubscribe", () => {
  it.effect("requires a callback only for several subscriptions, and explains that", () =>
    Effect.gen(function*() {
      yield* watched("one", "two")
      const hub = yield* Hub
      const end = (callback?: string) =>
        hub.unsubscribe({ caller, topic: feed, face: "api", ...(callback === undefined ? {} : { callback }) })
      assert.include((yield* refusalOf(end())).message, "You have 2 subscriptions")
      assert.include((yield* refusalOf(end(hook("three")))).message, "You are not subscribed to")
      assert.strictEqual(yield* end(hook("one")), "done")
      assert.strictEqual(yield* end(), "done")
      assert.include((yield* refusalOf(end())).message, "there is nothing to unsubscribe")
    }).pipe(Effect.provide(layer)))

  it.effect("with verification keeps the subscription until the callback consents", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      const hub = yield* Hub
      const end = (verify: "sync" | "async") =>
        hub.unsubscribe({ caller, topic: feed, callback: hook("good"), face: "api", verify })
      web.verify(() => new IntentNotConfirmed({ message: "no" }))
      assert.strictEqual((yield* refusalOf(end("sync")))._tag, "NotVerified")
      assert.strictEqual(yield* end("async"), "pending")
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* listed).length, 1)
      const verifications: Array<Intent> = []
      web.verify((intent) => Effect.sync(() => void verifications.push(intent)))
      assert.strictEqual(yield* end("async"), "pending")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(verifications.map(({ leaseSeconds, mode }) => [mode, leaseSeconds]), [["unsubscribe", ""]])
      assert.deepStrictEqual(yield* listed, [])
    }).pipe(Effect.provide(layer)))

  for (const verify of [undefined, "sync", "async"] as const) {
    it.effect(`and subscribing again tells no old news (verify: ${verify})`, () =>
      Effect.gen(function*() {
        const web = yield* watched("good")
        yield* unsubscribe("good")
        yield* TestClock.adjust("3 minutes")
        web.publish(feed, ["old", "first"])
        yield* Effect.forkChild(subscribe("good", verify === undefined ? {} : { verify }))
        yield* TestClock.adjust("3 minutes")
        web.publish(feed, ["new", "old", "first"])
        yield* Hub.use((hub) => hub.publish([feed]))
        yield* TestClock.adjust("2 seconds")
        assert.deepStrictEqual(lines(web, "post").map((line) => line.replace(/^\S+ /, "")), [
          "post good.hooks.example/ new try 0"
        ])
        assert.deepStrictEqual(headers(web, "good", "X-Windhover-Sequence"), ["1"])
      }).pipe(Effect.provide(layer)))
  }

  it.effect("and subscribing again begins a new sequence", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      web.publish(feed, ["b", "first"])
      yield* TestClock.adjust("61 seconds")
      yield* unsubscribe("good")
      yield* subscribe("good")
      web.publish(feed, ["c", "b", "first"])
      yield* TestClock.adjust("2 minutes")
      assert.deepStrictEqual(headers(web, "good", "X-Windhover-Sequence"), ["1", "1"])
    }).pipe(Effect.provide(layer)))
})

describe("Hub.retrieve", () => {
  it.effect("returns stored entries of a subscribed topic, before and after an entry", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      web.publish(feed, ["c", "b", "first"])
      yield* TestClock.adjust("61 seconds")
      assert.deepStrictEqual(idsOf(yield* retrieve({ topic: feed })), ["c", "b", "first"])
      assert.deepStrictEqual(idsOf(yield* retrieve({ topic: feed, count: 1 })), ["c"])
      assert.deepStrictEqual(idsOf(yield* retrieve({ topic: feed, count: 0 })), [])
      assert.deepStrictEqual(idsOf(yield* retrieve({ topic: feed, before: "c" })), ["b", "first"])
      assert.deepStrictEqual(idsOf(yield* retrieve({ topic: feed, ids: ["b", "zzz"] })), ["b"])
      assert.deepStrictEqual(idsOf(yield* retrieve({ callback: hook("good"), after: "first" })), ["c", "b"])
      assert.deepInclude(yield* refusalOf(retrieve({ topic: feed, before: "zzz" })), {
        _tag: "BadParameter",
        parameter: "before"
      })
    }).pipe(Effect.provide(layer)))

  it.effect("returns the entries by their dates, or in the order of storing", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      web.publish(feed, ["b", "first"])
      yield* TestClock.adjust("61 seconds")
      const resources = yield* ResourceStore
      const resource = Option.getOrThrow(yield* resources.find(feed))
      yield* resources.record(found(resource, [entry("dated before", { published: -1_000 })]))
      assert.deepStrictEqual(idsOf(yield* retrieve({ topic: feed })), ["b", "first", "dated before"])
      assert.deepStrictEqual(idsOf(yield* retrieve({ topic: feed, order: "stored" })), ["dated before", "b", "first"])
    }).pipe(Effect.provide(layer)))

  it.effect("rejects a missing subscription, and a callback with 200 feeds", () =>
    Effect.gen(function*() {
      yield* started
      assert.strictEqual((yield* refusalOf(retrieve({ topic: feed })))._tag, "NotSubscribed")
      assert.strictEqual((yield* refusalOf(retrieve({ callback: hook("good") })))._tag, "NotSubscribed")
      assert.strictEqual((yield* refusalOf(retrieve({})))._tag, "BadParameter")
      for (let i = 0; i < 200; i++) yield* subscribe("good", { topic: `http://${i}.example/` })
      const reason = yield* refusalOf(retrieve({ callback: hook("good") }))
      assert.include(reason.message, "fewer than 200")
      yield* unsubscribe("good", "http://7.example/")
      assert.deepStrictEqual(idsOf(yield* retrieve({ callback: hook("good") })), [])
    }).pipe(Effect.provide(layer)))

  it.effect("right after a subscription waits for the first document", () =>
    Effect.gen(function*() {
      const web = yield* started
      web.publish(feed, ["b", "first"])
      yield* subscribe("good")
      assert.deepStrictEqual(idsOf(yield* retrieve({ topic: feed })), ["b", "first"])
      yield* subscribe("good", { topic: `${feed}2` })
      web.publish(`${feed}2`, ["second"])
      assert.sameMembers(idsOf(yield* retrieve({ callback: hook("good") })), ["b", "first", "second"])
    }).pipe(Effect.provide(layer)))

  it.effect("waits five seconds at most, and tells the period by which the resource will be polled", () =>
    Effect.gen(function*() {
      const web = yield* started
      web.serve(feed, () => Effect.never)
      yield* subscribe("good")
      const hub = yield* Hub
      const now = yield* hub.retrieve({ caller, topic: feed, count: 10, awaitDocument: false })
      assert.deepStrictEqual([now.entries, now.status.lastFetch, now.status.period], [[], undefined, 60])
      const waiting = yield* Effect.forkChild(retrieve({ topic: feed }), { startImmediately: true })
      yield* TestClock.adjust("4999 millis")
      assert.isUndefined(waiting.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual((yield* Fiber.join(waiting)).entries, [])
    }).pipe(Effect.provide(layer)))

  it.effect("of several feeds names the feed of each entry", () =>
    Effect.gen(function*() {
      const web = yield* started
      for (const topic of [feed, `${feed}2`]) {
        web.publish(topic, [`of ${topic}`])
        yield* subscribe("good", { topic })
      }
      const { entries, header, isCombined, status } = yield* retrieve({ callback: hook("good") })
      assert.deepStrictEqual(
        entries.map(({ id, source }) => [id, source?.id, source?.links]).toSorted(),
        [feed, `${feed}2`].map((topic) => [`of ${topic}`, topic, [{ rel: "self", href: topic }]])
      )
      assert.deepStrictEqual([isCombined, status.title, header?.title?.value], [
        true,
        "Entries of 2 feeds",
        "Entries of 2 feeds"
      ])
      assert.strictEqual(
        status.feed,
        `http://localhost:8080/?hub.mode=retrieve&hub.callback=${encodeURIComponent(hook("good"))}`
      )
      const search = { ...matchAll, endpointHostname: "good.hooks.example" }
      const found = yield* (yield* Hub).retrieve({ caller, count: 1, search })
      assert.strictEqual(
        found.status.feed,
        "http://localhost:8080/?hub.mode=retrieve&hub.callback%5Bendpoint.hostname%5D=good.hooks.example"
      )
    }).pipe(Effect.provide(layer)))

  it.effect("returns a document other than a feed as fetched", () =>
    Effect.gen(function*() {
      const web = yield* started
      const document = { ...documentOf([]), headers: { "content-type": "text/plain" }, body: Buffer.from("<hello") }
      web.serve(feed, () => Effect.succeed(document))
      yield* subscribe("good")
      yield* TestClock.adjust("1 second")
      const answer = yield* retrieve({ topic: feed })
      assert.deepStrictEqual(answer.document, { contentType: "text/plain", body: document.body })
      assert.deepStrictEqual(answer.entries, [])
    }).pipe(Effect.provide(layer)))
})

describe("Hub.publish", () => {
  it.effect("answers any ping at once, and fetches watched resources", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      const hub = yield* Hub
      web.publish(feed, ["b", "first"])
      yield* hub.publish(["nonsense", "http://unknown.example/", feed])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(web.log.map((line) => line.replace(/^\S+ /, "")), [
        "poll feeds.example/a",
        "post good.hooks.example/ b try 0"
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("sends no notification for an unchanged document", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      web.serve(feed, () => Effect.succeed(statusOnly(304)))
      yield* (yield* Hub).publish([feed])
      yield* TestClock.adjust("1 second")
      assert.strictEqual(lines(web, "poll").length, 1)
      assert.deepStrictEqual(lines(web, "post"), [])
    }).pipe(Effect.provide(layer)))
})

describe("Hub, while the database is away", () => {
  it.effect("rejects with the time of the next attempt", () =>
    Effect.gen(function*() {
      yield* watched("good")
      const faults = yield* MemoryStores.Faults
      yield* faults.down
      const hub = yield* Hub
      const refused = [subscribe("new"), unsubscribe("good"), retrieve({ topic: feed }), listed, hub.publish([feed])]
      for (const effect of refused) {
        const reason = yield* refusalOf<unknown, Hub>(effect)
        assert.deepInclude(reason, { _tag: "Unavailable", retryAfter: 5 })
      }
      yield* faults.up
      assert.strictEqual((yield* listed).length, 1)
    }).pipe(Effect.provide(layer)))
})
