import type { PushedDocument } from "#domain/poll/PushedDocument.ts"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Hub } from "#actors/operations/Hub.ts"
import * as Resource from "#actors/resource/Resource.ts"
import { MemoryBudget } from "#domain/collections/MemoryBudget.ts"
import { DocumentMemory } from "#domain/ports/DocumentMemory.ts"
import type { Fetched } from "#domain/ports/Fetcher.ts"
import { Pings } from "#domain/ports/Pings.ts"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import * as MemoryStores from "#test/fakes/MemoryStores.ts"
import { feed, lines, started, subscribe, unsubscribe, watched } from "#test/support/HubCalls.ts"
import { layerPartition, loadState, watchTopics } from "#test/support/PartitionActors.ts"
import { documentOf, layer, type SimulatedWeb, statusOnly } from "#test/support/SimulatedWeb.ts"

/** Room for eight pushed documents of 8 MiB. */
const memory = {
  fetches: new MemoryBudget(),
  reading: new MemoryBudget(),
  exchanges: new MemoryBudget({ maxBytes: 64 * 1024 * 1024 })
}

const outcomes = Effect.gen(function*() {
  return (yield* (yield* Pings).list({ accountId: 1, limit: 20 })).map(({ outcome }) => outcome)
})

const content = (...ids: ReadonlyArray<string>): PushedDocument => ({
  contentType: "application/xml",
  body: new TextEncoder().encode(JSON.stringify(ids))
})

const publish = Effect.fnUntraced(function*(content?: PushedDocument, topic = feed) {
  yield* (yield* Hub).publish([topic], { accountId: 1, ...(content !== undefined && { content }) })
  yield* TestClock.adjust("1 second")
})

const happened = (web: SimulatedWeb["Service"]) => web.log.map((line) => line.replace(/^\S+ /, ""))

const code = 200

describe("the record of pings", () => {
  it.effect("holds the outcome of each ping", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      yield* publish()
      web.publish(feed, ["c", "b", "first"])
      yield* publish()
      web.serve(feed, () => Effect.succeed(statusOnly(500)))
      yield* publish()
      yield* publish(undefined, "http://nobody.example/")
      yield* publish(undefined, "nonsense")
      const all = (yield* outcomes).toReversed()
      assert.match(all[2]?._tag === "Failed" ? all[2].message : "", /^Fetched \(ping\) 500 \d+$/)
      assert.deepStrictEqual(all.map((one) => one?._tag === "Failed" ? { ...one, message: "" } : one), [
        { _tag: "Unchanged", code },
        { _tag: "Changed", code, entries: 2 },
        { _tag: "Failed", code: 500, message: "" },
        { _tag: "NoSubscriber" },
        { _tag: "NoSubscriber" }
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("holds one outcome for pings before a fetch, and another for pings during the fetch", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      const answer = (ids: ReadonlyArray<string>): Effect.Effect<Fetched> =>
        Effect.delay(Effect.succeed(documentOf(ids)), "3 seconds")
      web.serve(feed, () => answer(["b", "first"]))
      yield* (yield* Hub).publish([feed, feed], { accountId: 1 })
      yield* TestClock.adjust("1 second")
      yield* publish()
      assert.deepStrictEqual(yield* outcomes, [undefined, undefined, undefined])
      yield* TestClock.adjust("10 seconds")
      const changed = { _tag: "Changed", code, entries: 1 } as const
      assert.deepStrictEqual(yield* outcomes, [{ _tag: "Unchanged", code }, changed, changed])
      assert.strictEqual(lines(web, "poll").length, 2)
    }).pipe(Effect.provide(layer)))

  it.effect("counts the entries of the fetch that ends a day of the resource and resets its daily count", () =>
    Effect.gen(function*() {
      const { actors, web } = yield* watchTopics()
      web.publish(feed, ["first"])
      yield* TestClock.adjust(1)
      const { id, lastMaintenanceAt = assert.fail("no day has begun") } = yield* loadState(feed)
      const end = lastMaintenanceAt + 86_400_000
      yield* TestClock.adjust(end - (yield* Clock.currentTimeMillis))
      web.publish(feed, ["c", "b", "first"])
      yield* Pings.use((pings) => pings.record({ accountId: 1, topic: feed, canonical: feed, withContent: false }, 0))
      yield* actors.resources.tell(id, Resource.ping)
      yield* TestClock.adjust(1)
      const after = yield* loadState(feed)
      assert.deepStrictEqual([after.entriesSinceMaintenance, after.lastMaintenanceAt], [0, end])
      assert.deepStrictEqual(yield* outcomes, [{ _tag: "Changed", code, entries: 2 }])
    }).pipe(Effect.provide(layerPartition({ minPeriodSeconds: 1_000, maxPeriodSeconds: 1_000 }))))

  it.effect("does not delay the fetch of a topic that was pinged before", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      yield* publish()
      web.publish(feed, ["b", "first"])
      yield* (yield* MemoryStores.Faults).delayPings(3_000)
      const { publish: send } = yield* Hub
      const sent = yield* Effect.forkChild(send([feed], { accountId: 1 }))
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(happened(web), [
        "poll feeds.example/a",
        "poll feeds.example/a",
        "post good.hooks.example/ b try 0"
      ])
      assert.strictEqual(sent.pollUnsafe(), undefined)
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(sent)
      assert.deepStrictEqual(yield* outcomes, [{ _tag: "Changed", code, entries: 1 }, { _tag: "Unchanged", code }])
      assert.strictEqual(lines(web, "poll").length, 2)
    }).pipe(Effect.provide(layer)))

  it.effect("holds a changed document", () =>
    Effect.gen(function*() {
      const web = yield* started
      let text = "<one"
      web.serve(feed, () =>
        Effect.succeed({ ...documentOf([text]), headers: { "content-type": "text/plain" }, body: Buffer.from(text) }))
      yield* subscribe("good")
      yield* TestClock.adjust("1 second")
      text = "<two"
      yield* publish()
      assert.deepStrictEqual(yield* outcomes, [{ _tag: "Changed", code, entries: 0 }])
    }).pipe(Effect.provide(layer)))
})

describe("a ping of a page", () => {
  const page = "http://pages.example/"

  const withFragments = Effect.fnUntraced(function*(...topics: ReadonlyArray<string>) {
    const web = yield* started
    let text = "<html a1 b1"
    web.serve(
      page,
      () => Effect.succeed({ ...documentOf([text]), headers: { "content-type": "text/html" }, body: Buffer.from(text) })
    )
    for (const topic of topics) yield* subscribe("good", { topic })
    yield* TestClock.adjust("1 second")
    web.log.length = 0
    text = "<html a2 b1"
    return web
  })

  it.effect("reaches the watched parts of the page, with or without a subscription to the page itself", () =>
    Effect.gen(function*() {
      const web = yield* withFragments(`${page}#a`, `${page}#b`)
      yield* publish(undefined, page)
      assert.deepStrictEqual(happened(web), [
        "poll pages.example/",
        "poll pages.example/",
        "post good.hooks.example/ status try 0" // it has no entries
      ])
      assert.deepStrictEqual(web.parcels.map(({ body }) => Buffer.from(body).toString()), ["a2"])
      assert.deepStrictEqual((yield* outcomes)[0], { _tag: "Changed", code, entries: 0 })
    }).pipe(Effect.provide(layer)))

  it.effect("has the outcome of a watched page", () =>
    Effect.gen(function*() {
      const web = yield* withFragments(page, `${page}#b`)
      yield* publish(undefined, page)
      assert.strictEqual(lines(web, "poll").length, 2)
      assert.deepStrictEqual((yield* outcomes)[0], { _tag: "Changed", code, entries: 0 })
    }).pipe(Effect.provide(layer)))

  it.effect("reaches what is watched since the last ping, once each, and nothing that is no longer watched", () =>
    Effect.gen(function*() {
      const web = yield* withFragments(page)
      yield* publish(undefined, page)
      yield* subscribe("good", { topic: `${page}#b` })
      yield* TestClock.adjust("1 second")
      web.log.length = 0
      yield* publish(undefined, page)
      assert.strictEqual(lines(web, "poll").length, 2)
      yield* unsubscribe("good", page)
      yield* unsubscribe("good", `${page}#b`)
      yield* TestClock.adjust("1 second")
      web.log.length = 0
      yield* publish(undefined, page)
      assert.deepStrictEqual(web.log, [])
    }).pipe(Effect.provide(layer)))

  it.effect("reaches one fragment when the ping names one", () =>
    Effect.gen(function*() {
      const web = yield* withFragments(`${page}#a`, `${page}#b`)
      yield* publish(undefined, `${page}#b`)
      assert.strictEqual(lines(web, "poll").length, 1)
      assert.deepStrictEqual((yield* outcomes)[0], { _tag: "Unchanged", code })
    }).pipe(Effect.provide(layer)))
})

describe("content that a publisher sends along", () => {
  it.effect("replaces a fetch: subscribers get its new entries, and no fetch runs", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      yield* publish(content("c", "b", "first"))
      yield* publish(content("c", "b", "first"))
      assert.deepStrictEqual(happened(web), ["post good.hooks.example/ c,b try 0"])
      assert.deepStrictEqual(yield* outcomes, [{ _tag: "Unchanged", code }, { _tag: "Changed", code, entries: 2 }])
      assert.match(
        Buffer.from(web.parcels[0]?.body ?? []).toString(),
        /Fetched \(push\) 200 \d+ and parsed 2\/3 entries/
      )
    }).pipe(Effect.provide(layer)))

  it.effect("causes no second notification at a later fetch", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      yield* publish(content("b", "first"))
      web.publish(feed, ["b", "first"])
      yield* TestClock.adjust("121 seconds")
      assert.strictEqual(lines(web, "poll").length, 1)
      assert.strictEqual(lines(web, "post").length, 1)
    }).pipe(Effect.provide(layer)))

  it.effect("causes a fetch, not an error state, when unreadable", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      web.publish(feed, ["b", "first"])
      yield* publish({ contentType: "application/xml", body: new TextEncoder().encode("<feed") })
      assert.deepStrictEqual(happened(web), ["poll feeds.example/a", "post good.hooks.example/ b try 0"])
      assert.deepStrictEqual(yield* outcomes, [{ _tag: "Changed", code, entries: 1 }])
    }).pipe(Effect.provide(layer)))

  it.effect("keeps the validators of the last fetch", () =>
    Effect.gen(function*() {
      const web = yield* started
      web.serve(feed, () => Effect.succeed({ ...documentOf(["first"]), headers: { etag: "\"1\"" } }))
      yield* subscribe("good")
      yield* TestClock.adjust("1 second")
      yield* publish(content("b", "first"))
      const resource = yield* Effect.flatMap(ResourceStore.use((store) => store.find(feed)), Effect.fromOption)
      assert.strictEqual(resource.etag, "\"1\"")
    }).pipe(Effect.provide(layer)))

  it.effect("causes a fetch for a resource without a first fetch, so that old entries are not new", () =>
    Effect.gen(function*() {
      const web = yield* started
      web.serve(feed, () => Effect.delay(Effect.succeed(documentOf(["first"])), "3 seconds"))
      yield* subscribe("good")
      yield* publish(content("b", "first"))
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(lines(web, "post"), [])
    }).pipe(Effect.provide(layer)))

  it.effect("is queued in order up to a maximum, beyond which the resource is fetched", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      const hub = yield* Hub
      for (let i = 0; i < 30; i++) {
        yield* hub.publish([feed], { accountId: 1, content: content(`e${i}`, "first") })
      }
      web.publish(feed, ["e29", "first"])
      yield* TestClock.adjust("5 seconds")
      const notified = lines(web, "post").map((line) => /(\S+) try 0/.exec(line)?.[1])
      assert.strictEqual(notified[0], "e0")
      assert.strictEqual(notified.at(-1), "e29")
      assert.isBelow(lines(web, "poll").length, 4)
    }).pipe(Effect.provide(layer)))

  it.effect("waits in at most 64 MiB for all publishers, and processed content frees its share", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      const hub = yield* Hub
      web.serve(feed, () => Effect.delay(Effect.succeed(documentOf(["first"])), "1 minute"))
      yield* publish() // from now on it is being fetched
      const large = { contentType: "text/plain", body: new Uint8Array(8 * 1024 * 1024) }
      for (let i = 0; i < 8; i++) yield* hub.publish([feed], { accountId: 1, content: large })
      yield* TestClock.adjust("1 second")
      const { reason } = yield* Effect.flip(hub.publish([feed], { accountId: 1, content: content("b") }))
      assert.deepStrictEqual(reason._tag === "Unavailable" && reason.retryAfter, 10)
      yield* publish() // without content it is a ping like any other
      yield* TestClock.adjust("10 seconds")
      yield* publish(content("b", "first"))
      assert.strictEqual((yield* outcomes).length, 11)
    }).pipe(Effect.provide(layer.pipe(Layer.provide(Layer.succeed(DocumentMemory, memory))))))
})
