import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { setImmediate } from "node:timers/promises"
import { Hub } from "#actors/operations/Hub.ts"
import { FetchError } from "#domain/ports/Fetcher.ts"
import { ReaderError } from "#domain/ports/FeedReader.ts"
import { SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import { partitionOf } from "#domain/Topic.ts"
import { collectGarbage } from "#layers/GarbageCollection.ts"
import * as Settings from "#layers/Settings.ts"
import * as MemoryStores from "#test/fakes/MemoryStores.ts"
import { feed, hook, lines, started, subscribe, unsubscribe, watched } from "#test/support/HubCalls.ts"
import { layerPartition, loadState, watchTopics } from "#test/support/PartitionActors.ts"
import { documentOf, layer, layerOutside, layerRunner, layerWith, statusOnly } from "#test/support/SimulatedWeb.ts"

const ping = (url = feed) => Hub.use((hub) => hub.publish([url]))

const timeout = new FetchError({ reason: { _tag: "Timeout", message: "No answer came within 30 s." } })

describe("a resource", () => {
  it.effect("is stored at its first fetch without a notification", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      const { code, header, http, kind, lastParse } = yield* loadState(feed)
      assert.deepStrictEqual({ code, header, http, kind, lastParse }, {
        code: 200,
        header: { title: { value: "A feed", type: "text" } },
        http: "Fetched (ring) 200 60 and parsed 1/1 entries",
        kind: "feed",
        lastParse: 1000
      })
      assert.deepStrictEqual(lines(web, "post"), [])
    }).pipe(Effect.provide(layer)))

  it.effect("is not read again while unchanged: only its schedule moves", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      web.beforeReading(Effect.die("nothing is to be read"))
      const before = yield* loadState(feed)
      yield* TestClock.adjust("60 seconds")
      web.serve(feed, () => Effect.succeed(statusOnly(304)))
      yield* TestClock.adjust("90 seconds")
      const { code, lastFetch, nextFetch, period, ...rest } = yield* loadState(feed)
      assert.deepStrictEqual({ code, lastFetch, nextFetch, period }, {
        code: 304,
        lastFetch: 151_000,
        nextFetch: 286_000,
        period: 135
      })
      assert.deepStrictEqual({ ...before, ...rest }, before)
    }).pipe(Effect.provide(layer)))

  it.effect("answers a request for its first document without another fetch after the document has arrived", () =>
    Effect.gen(function*() {
      const { actors, web } = yield* watchTopics()
      web.publish(feed, ["first"])
      yield* TestClock.adjust(1)
      const done = yield* Deferred.make<boolean>()
      yield* actors.resources.tell((yield* loadState(feed)).id, { _tag: "FirstFetch", done })
      yield* TestClock.adjust(1)
      assert.strictEqual(Deferred.isDoneUnsafe(done), true)
      assert.strictEqual(lines(web, "poll").length, 1)
    }).pipe(Effect.provide(layerPartition())))

  it.effect("is fetched at most once a second without subscribers, however often its hub pushes", () =>
    Effect.gen(function*() {
      const { actors, web } = yield* watchTopics()
      web.publish(feed, ["first"])
      yield* TestClock.adjust("5 seconds")
      const { id } = yield* loadState(feed)
      yield* (yield* SubscriptionStore).remove(1)
      yield* actors.resources.tell(id, { _tag: "Reload" })
      yield* TestClock.adjust(1)
      web.log.length = 0
      const pushes = yield* Effect.forEach([1, 2, 3, 4, 5], () =>
        Effect.gen(function*() {
          const done = yield* Deferred.make<boolean>()
          yield* actors.resources.tell(id, { _tag: "Push", document: undefined, byHub: true, done })
          yield* TestClock.adjust(100)
          return done
        }))
      assert.deepStrictEqual(pushes.map(Deferred.isDoneUnsafe), [true, false, false, false, false])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(pushes.map(Deferred.isDoneUnsafe), [true, true, true, true, true])
      assert.deepStrictEqual(web.log, ["5.001s poll feeds.example/a", "6.001s poll feeds.example/a"])
    }).pipe(Effect.provide(layerPartition())))

  it.effect("sends its validators back", () =>
    Effect.gen(function*() {
      const web = yield* started
      const sentEtags: Array<string | undefined> = []
      web.serve(feed, ({ etag }) =>
        Effect.sync(() => {
          sentEtags.push(etag)
          return etag === undefined ? { ...documentOf(["first"]), headers: { etag: "\"v1\"" } } : statusOnly(304)
        }))
      yield* subscribe("good")
      yield* TestClock.adjust("3 minutes")
      assert.deepStrictEqual(sentEtags, [undefined, "\"v1\"", "\"v1\""])
    }).pipe(Effect.provide(layer)))

  it.effect("frees the memory of a document that is known or was read", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      const released: Array<string> = []
      const serve = (name: string, ids: ReadonlyArray<string>) =>
        web.serve(feed, () => Effect.succeed({ ...documentOf(ids), release: () => void released.push(name) }))
      serve("known", ["first"])
      yield* TestClock.adjust("1 minute")
      serve("read", ["b", "first"])
      yield* TestClock.adjust("2 minutes")
      assert.deepStrictEqual([...new Set(released)], ["known", "read"])
      assert.strictEqual(lines(web, "post good.hooks.example/ b").length, 1)
    }).pipe(Effect.provide(layer)))

  it.effect("keeps no document of an earlier fetch while the next fetch waits for its answer", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      const hub = yield* Hub
      let known: WeakRef<Uint8Array> | undefined
      let isWaiting = false
      const wait = Effect.andThen(Effect.sync(() => isWaiting = true), Effect.never)
      web.beforeReading(Effect.sleep("2 seconds")) // longer than the time between two pings, so that the fetches follow each other
      web.serve(feed, () =>
        Effect.suspend(() => {
          const document = documentOf(["b", "first"])
          known = new WeakRef(document.body)
          web.serve(feed, () => wait)
          return Effect.as(Effect.orDie(hub.publish([feed])), document)
        }))
      yield* TestClock.adjust("2 minutes")
      assert.isTrue(isWaiting)
      yield* Effect.promise(() => setImmediate())
      collectGarbage()
      assert.isUndefined(known?.deref())
    }).pipe(Effect.provide(layer)))

  it.effect("is fetched once more after any number of pings during a fetch", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      const answer = yield* Deferred.make<void>()
      web.serve(feed, () => Effect.as(Deferred.await(answer), documentOf(["first"])))
      yield* ping()
      yield* TestClock.adjust("2 seconds")
      for (let i = 0; i < 5; i++) yield* ping()
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(web.log, ["2s poll feeds.example/a"])
      web.serve(feed, () => Effect.succeed(documentOf(["b", "first"])))
      yield* Deferred.succeed(answer, undefined)
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(web.log.slice(1), ["6s poll feeds.example/a", "6s post good.hooks.example/ b try 0"])
    }).pipe(Effect.provide(layer)))

  it.effect("is fetched once a second under continuous pings, and loses no ping", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      for (let i = 0; i < 20; i++) {
        yield* ping()
        yield* TestClock.adjust(150)
      }
      web.publish(feed, ["b", "first"])
      yield* ping()
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(lines(web, "poll").length, 5)
      assert.deepStrictEqual(lines(web, "post").length, 1)
    }).pipe(Effect.provide(layerWith({ maxResident: 0 }))))

  it.effect("announces its error state once, and no later failure", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      web.serve(feed, () => Effect.succeed(statusOnly(500)))
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(lines(web, "post"), ["121s post good.hooks.example/ status try 0"])
      assert.include(new TextDecoder().decode(web.parcels[0]?.body), "http code=\"500\"")
      web.serve(feed, () => Effect.succeed(documentOf(["b", "first"])))
      yield* TestClock.adjust("30 minutes")
      assert.strictEqual(lines(web, "post good.hooks.example/ b").length, 1)
      assert.strictEqual(lines(web, "post").length, 2)
      web.serve(feed, () => Effect.fail(timeout))
      yield* TestClock.adjust("60 minutes")
      assert.strictEqual(lines(web, "post good.hooks.example/ status").length, 2)
      const { code, http, inError } = yield* loadState(feed)
      assert.deepStrictEqual([code, inError], [0, true])
      assert.match(String(http), /^Fetched \(ring\) 0 \d+: No answer came within 30 s\.$/)
    }).pipe(Effect.provide(layer)))

  it.effect("is fetched again soon after one failure, which is no error state yet", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      yield* TestClock.adjust("10 minutes")
      const before = yield* loadState(feed)
      assert.strictEqual(before.period, 305)
      let slips = 1
      web.serve(feed, () => Effect.succeed(slips-- > 0 ? statusOnly(502) : documentOf(["b", "first"])))
      web.log.length = 0
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(web.log.slice(0, 3), [
        "794s poll feeds.example/a",
        "854s poll feeds.example/a",
        "854s post good.hooks.example/ b try 0"
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("announces a failure of its first fetch at once", () =>
    Effect.gen(function*() {
      const web = yield* started
      web.serve(feed, () => Effect.fail(timeout))
      yield* subscribe("good")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(lines(web, "post").length, 1)
      assert.strictEqual((yield* loadState(feed)).http, "Fetched (ring) 0 60: No answer came within 30 s.")
    }).pipe(Effect.provide(layer)))

  it.effect("is in error when reading times out, and is retried when the reader dies", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      web.publish(feed, ["b", "first"])
      web.beforeReading(Effect.fail(new ReaderError({ message: "reading took more than 5 s" })))
      yield* TestClock.adjust("120 seconds")
      assert.strictEqual(
        (yield* loadState(feed)).http,
        "Fetched (ring) 200 120: Parser Error reading took more than 5 s"
      )
      let crashes = 3
      web.beforeReading(Effect.suspend(() => crashes-- > 0 ? Effect.die("a bug") : Effect.void))
      yield* TestClock.adjust("62 minutes")
      assert.deepStrictEqual(lines(web, "post"), [
        "121s post good.hooks.example/ status try 0",
        "3722.75s post good.hooks.example/ b try 0"
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("pauses after a killed reading, whatever its publisher announces", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      web.beforeReading(Effect.fail(new ReaderError({ message: "The document cannot be read: it takes too long." })))
      web.publish(feed, ["slow"])
      for (const _ of ["first kill", "second kill"]) {
        yield* ping()
        yield* TestClock.adjust("5 seconds")
      }
      web.log.length = 0
      for (let pings = 0; pings < 20; pings++) {
        yield* ping()
        yield* TestClock.adjust("1 minute")
      }
      assert.deepStrictEqual(lines(web, "poll"), [])
      web.beforeReading(Effect.void)
      yield* TestClock.adjust("45 minutes")
      assert.strictEqual((yield* loadState(feed)).serverProfile?.killedUntil, undefined)
    }).pipe(Effect.provide(layer)))

  it.effect("is not fetched without subscriptions", () =>
    Effect.gen(function*() {
      const web = yield* watched("good", "other")
      yield* unsubscribe("good")
      yield* TestClock.adjust("60 seconds")
      assert.deepStrictEqual(web.log, ["61s poll feeds.example/a"])
      yield* unsubscribe("other")
      yield* ping()
      yield* TestClock.adjust("30 minutes")
      assert.deepStrictEqual(web.log, ["61s poll feeds.example/a"])
      web.publish(feed, ["b", "first"])
      yield* subscribe("good")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(lines(web, "poll").length, 2)
    }).pipe(Effect.provide(layer)))

  it.effect("waits while the database is away, and resumes afterwards", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      const faults = yield* MemoryStores.Faults
      yield* TestClock.adjust("58 seconds")
      yield* faults.down
      web.publish(feed, ["b", "first"])
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(web.log, ["61s poll feeds.example/a"])
      yield* faults.up
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(lines(web, "post good.hooks.example/ b").length, 1)
      assert.strictEqual((yield* loadState(feed)).lastParse, 61_000)
    }).pipe(Effect.provide(layer)))
})

/** Subscribes to so many topics of a host. */
const subscribeAll = (host: string, count: number) =>
  Effect.forEach(
    Array.from({ length: count }, (_, i) => `http://${host}/${i}`),
    (topic) => subscribe("good", { topic }),
    { discard: true }
  )

describe("politeness", () => {
  it.effect("runs two fetches of a host at once; a silent host delays no other host of its partition", () =>
    Effect.gen(function*() {
      const web = yield* started
      for (let i = 0; i < 6; i++) {
        web.serve(`http://hanging.example.com/${i}`, () => Effect.andThen(Effect.sleep("30 seconds"), timeout))
      }
      assert.strictEqual(partitionOf("hanging.example.com"), partitionOf("other.example.com"))
      yield* subscribeAll("hanging.example.com", 6)
      yield* subscribe("good", { topic: "http://other.example.com/feed" })
      yield* TestClock.adjust("60 seconds")
      assert.deepStrictEqual(lines(web, "poll hanging").map((line) => line.split(" ")[0]), [
        "1s",
        "1s",
        "31s",
        "31s",
        "61s",
        "61s"
      ])
      assert.strictEqual(lines(web, "poll other")[0], "1s poll other.example.com/feed")
    }).pipe(Effect.provide(layer)))

  it.effect("keeps resources that wait for their host out of the actor budget", () =>
    Effect.gen(function*() {
      const web = yield* started
      for (let i = 0; i < 20; i++) {
        web.serve(`http://hanging.example.com/${i}`, () => Effect.andThen(Effect.sleep("30 seconds"), timeout))
      }
      yield* subscribeAll("hanging.example.com", 20)
      yield* TestClock.adjust("5 minutes")
      web.log.length = 0
      yield* subscribe("good", { topic: "http://other.example.org/feed" })
      yield* TestClock.adjust("61 seconds")
      assert.strictEqual(lines(web, "poll other").length, 2)
    }).pipe(Effect.provide(layerWith({ maxFetches: 3, maxResident: 0 }))))

  it.effect("pauses all resources of an overloaded host for as long as the host asks, from the second refused resource on", () =>
    Effect.gen(function*() {
      const web = yield* started
      let overloaded = true
      for (const n of [0, 1, 2]) {
        web.serve(
          `http://busy.example/${n}`,
          () => Effect.sync(() => overloaded ? statusOnly(429, { "retry-after": "600" }) : documentOf(["first"]))
        )
      }
      yield* subscribeAll("busy.example", 1)
      yield* TestClock.adjust("1 second")
      yield* subscribe("good", { topic: "http://busy.example/1" })
      yield* subscribe("good", { topic: "http://busy.example/2" })
      yield* subscribe("good", { topic: "http://idle.example/1" })
      yield* TestClock.adjust("598 seconds")
      overloaded = false
      assert.deepStrictEqual(lines(web, "busy.example/1"), ["62s poll busy.example/1"])
      assert.deepStrictEqual(lines(web, "busy.example/2"), [])
      assert.notDeepEqual(lines(web, "idle.example/1"), [])
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(lines(web, "poll busy.example/2"), ["601s poll busy.example/2"])
    }).pipe(Effect.provide(layer)))

  it.effect("runs no more concurrent fetches than the settings allow", () =>
    Effect.gen(function*() {
      const web = yield* started
      for (let i = 0; i < 9; i++) {
        web.serve(`http://${i}.example/`, () => Effect.as(Effect.sleep("1 second"), documentOf(["first"])))
        yield* subscribe("good", { topic: `http://${i}.example/` })
      }
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(lines(web, "poll").map((line) => line.split(" ")[0]), [
        "1s",
        "1s",
        "1s",
        "1s",
        "2s",
        "2s",
        "2s",
        "2s",
        "3s"
      ])
    }).pipe(Effect.provide(layerWith({ maxFetches: 4 }))))

  it.effect("corrects times that a fast clock has planned: polls at the next start and after a ping", () =>
    Effect.gen(function*() {
      const runner = Effect.gen(function*() {
        const scope = yield* Scope.make()
        const context = yield* Layer.build(Layer.fresh(layerRunner)).pipe(Scope.provide(scope))
        return { context, stop: Scope.close(scope, Exit.void) }
      })
      yield* TestClock.setTime(100 * 86_400_000)
      const ahead = yield* runner
      const web = yield* watched("good").pipe(Effect.provideContext(ahead.context))
      yield* TestClock.adjust("2 minutes")
      yield* ahead.stop
      yield* TestClock.setTime(0)
      web.log.length = 0
      const right = yield* runner
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(lines(web, "poll").length, 1)
      yield* TestClock.adjust("30 seconds")
      yield* ping().pipe(Effect.provideContext(right.context))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(lines(web, "poll").length, 2)
      yield* right.stop
      const { lastFetch, nextFetch } = yield* loadState(feed)
      assert.strictEqual(lastFetch, 31_000)
      assert.strictEqual(nextFetch, 234_000)
    }).pipe(Effect.provide(layerOutside), Effect.provide(Settings.layerValues())))

  it.effect("fetches overdue resources one after the other at a start, and later ones on time", () =>
    Effect.gen(function*() {
      const subscriptions = yield* SubscriptionStore
      const web = yield* started
      for (let i = 0; i < 40; i++) {
        const topic = { given: `http://a.example/${i}`, canonical: `http://a.example/${i}`, host: "a.example" }
        yield* subscriptions.subscribe({
          accountId: 1,
          topic,
          partition: partitionOf("a.example"),
          channel: "webhook",
          endpoint: hook("good"),
          host: "good.hooks.example",
          face: "api",
          state: "active"
        })
      }
      yield* TestClock.adjust("10 minutes")
      const scope = yield* Scope.make()
      yield* Layer.build(Layer.fresh(layerRunner)).pipe(Scope.provide(scope))
      const counts: Array<number> = []
      for (let second = 0; second < 4; second++) {
        yield* TestClock.adjust("1 second")
        counts.push(lines(web, "poll").length)
      }
      const [first = 0, second = 0] = counts
      assert.isBelow(first, 15)
      assert.include([13, 14], second - first)
      assert.strictEqual(counts[3], 40)
      yield* Scope.close(scope, Exit.void)
    }).pipe(Effect.provide(layerOutside), Effect.provide(Settings.layerValues())))
})
