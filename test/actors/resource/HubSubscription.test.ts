import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Option } from "effect"
import { TestClock } from "effect/testing"
import { Hub } from "#actors/operations/Hub.ts"
import { anonymous } from "#domain/Account.ts"
import { hashBytes } from "#domain/Fingerprint.ts"
import { HubRequestError } from "#domain/ports/HubClient.ts"
import type { Fetched } from "#domain/ports/Fetcher.ts"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import { HubSubscriptionStore } from "#domain/ports/HubSubscriptionStore.ts"
import type { SettingsValues } from "#domain/ports/Settings.ts"
import { feed, hook, lines, started, subscribe, unsubscribe } from "#test/support/HubCalls.ts"
import { layerPartition, watchTopics } from "#test/support/PartitionActors.ts"
import * as Settings from "#layers/Settings.ts"
import { documentOf, layerOutside, layerRunner, layerWith, type SimulatedWeb } from "#test/support/SimulatedWeb.ts"

const topic = feed
const hub = "http://hub.example/"

const advertising = (ids: ReadonlyArray<string>, link = `<${hub}>; rel=hub, <${topic}>; rel=self`): Fetched => ({
  ...documentOf(ids),
  headers: { link }
})

const publish = (web: SimulatedWeb["Service"], ...ids: ReadonlyArray<string>) =>
  web.serve(feed, () => Effect.succeed(advertising(ids)))

/** What happened, without when. */
const untimed = (web: SimulatedWeb["Service"]) => web.log.map((line) => line.replace(/^\S+ /, ""))

const agree = (callback: string, leaseSeconds = 864_000, mode: "subscribe" | "unsubscribe" = "subscribe") =>
  Hub.use((service) => service.confirmIntent(callback, { mode, topic, leaseSeconds }))

const push = (callback: string, ids: ReadonlyArray<string>) => pushBytes(callback, documentOf(ids).body)

const pushBytes = Effect.fnUntraced(function*(callback: string, body: Uint8Array) {
  const service = yield* Hub
  const receiver = yield* service.findReceiver(callback)
  if (receiver === undefined) return assert.fail("nobody receives")
  yield* service.acceptPush(receiver, { contentType: "application/json", body })
})

const known = Effect.gen(function*() {
  const resource = Option.getOrThrow(yield* (yield* ResourceStore).find(feed))
  return Option.getOrUndefined(yield* (yield* HubSubscriptionStore).find(resource.id))?.subscription
})

/** A feed that names a hub is watched, and the hub has verified the subscription. */
const followed = Effect.gen(function*() {
  const web = yield* started
  publish(web, "first")
  yield* subscribe("good")
  yield* TestClock.adjust("1 second")
  assert.strictEqual(yield* agree("callback-1"), true)
  yield* TestClock.adjust("1 second")
  web.log.length = 0
  return web
})

/** And it has pushed once, so that it is relied on. */
const pushedOnce = Effect.gen(function*() {
  const web = yield* followed
  yield* push("callback-1", ["second"])
  yield* TestClock.adjust("90 seconds") // the poll that was due moves on
  web.log.length = 0
  return web
})

/** Polls at every minute at least, and every 16 minutes where a hub is relied on: hours of a test clock are long. */
const on: Partial<SettingsValues> = {
  upstreamHubs: true,
  baseUrl: "https://push.example.org",
  minPeriodSeconds: 15,
  maxPeriodSeconds: 60
}
const layer = layerWith(on)

describe("a resource that names a hub", () => {
  it.effect("subscribes there after its first subscriber, and its hub verifies", () =>
    Effect.gen(function*() {
      const web = yield* started
      publish(web, "first")
      yield* subscribe("good")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(untimed(web), [
        "poll feeds.example/a",
        "subscribe feeds.example/a at hub.example/ as callback-1"
      ])
      assert.strictEqual(yield* agree("callback-2"), false)
      assert.strictEqual(yield* agree("callback-1"), true)
      const { callback, leaseUntil, secret, state } = (yield* known) ?? assert.fail("no row")
      assert.deepStrictEqual([state, callback, secret, leaseUntil], ["active", "callback-1", "secret-1", 864_002_000])
    }).pipe(Effect.provide(layer)))

  it.effect("notifies of a push at once, although no poll is due", () =>
    Effect.gen(function*() {
      const web = yield* followed
      yield* push("callback-1", ["second"])
      assert.deepStrictEqual(lines(web, "poll"), [])
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(untimed(web), ["post good.hooks.example/ second try 0"])
      const resource = Option.getOrThrow(yield* (yield* ResourceStore).find(feed))
      assert.strictEqual(resource.http, "Fetched (push) 200 15 and parsed 1/1 entries")
      yield* push("callback-1", ["second"])
      yield* push("callback-1", ["second", "first"])
      yield* TestClock.adjust(0)
      assert.strictEqual(lines(web, "post").length, 1)
    }).pipe(Effect.provide(layer)))

  it.effect("is polled rarely after a push, and a push removes no seen id", () =>
    Effect.gen(function*() {
      const web = yield* pushedOnce
      publish(web, "second", "first")
      yield* TestClock.adjust("34 minutes")
      assert.strictEqual(lines(web, "poll").length, 2)
      assert.deepStrictEqual(lines(web, "post"), [])
    }).pipe(Effect.provide(layer)))

  it.effect("is fetched after a push when hub-face subscribers get the whole document, without a miss", () =>
    Effect.gen(function*() {
      const web = yield* pushedOnce
      const wanted = { caller: anonymous, topic: feed, callback: hook("whole"), face: "hub" as const, retrieve: false }
      yield* (yield* Hub).subscribe(wanted)
      yield* TestClock.adjust("2 seconds")
      publish(web, "third", "second", "first")
      web.log.length = 0
      const pushing = yield* Effect.forkChild(push("callback-1", ["third"]))
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(pushing) // not before it is stored
      assert.strictEqual(lines(web, "poll").length, 1)
      const parcels = web.parcels.filter(({ callback }) => callback === hook("whole"))
      assert.deepStrictEqual(parcels.map(({ body }) => new TextDecoder().decode(body)), [
        "[\"third\",\"second\",\"first\"]"
      ])
      assert.strictEqual(lines(web, "post good.hooks.example/ third").length, 1)
      yield* TestClock.adjust("6 minutes")
      assert.strictEqual((yield* known)?.reliable, true)
    }).pipe(Effect.provide(layer)))

  it.effect("is fetched after an unreadable push, without a miss", () =>
    Effect.gen(function*() {
      const web = yield* pushedOnce
      publish(web, "third", "second", "first")
      const pushing = yield* Effect.forkChild(pushBytes("callback-1", new TextEncoder().encode("unreadable")))
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(pushing)
      assert.strictEqual(lines(web, "post good.hooks.example/ third").length, 1)
      yield* TestClock.adjust("6 minutes")
      assert.strictEqual((yield* known)?.reliable, true)
    }).pipe(Effect.provide(layer)))

  it.effect("is polled as before after a miss of its hub, and subscribes again", () =>
    Effect.gen(function*() {
      const web = yield* pushedOnce
      publish(web, "third", "second", "first")
      yield* TestClock.adjust("16 minutes")
      assert.strictEqual(lines(web, "post good.hooks.example/ third").length, 1)
      yield* TestClock.adjust("6 minutes")
      assert.strictEqual(lines(web, "subscribe").length, 1)
      assert.strictEqual((yield* known)?.reliable, false)
      web.log.length = 0
      yield* TestClock.adjust("5 minutes")
      assert.isAtLeast(lines(web, "poll").length, 4)
      yield* push("callback-1", ["fourth"])
      yield* TestClock.adjust(0)
      assert.strictEqual((yield* known)?.reliable, true)
    }).pipe(Effect.provide(layer)))

  it.effect("still relies on a hub whose push arrives within five minutes after the poll", () =>
    Effect.gen(function*() {
      const web = yield* pushedOnce
      publish(web, "third", "second", "first")
      yield* Hub.use((service) => service.publish([feed]))
      yield* TestClock.adjust("4 minutes")
      assert.strictEqual(lines(web, "post good.hooks.example/ third").length, 1)
      yield* push("callback-1", ["third"])
      yield* TestClock.adjust("6 minutes")
      assert.strictEqual((yield* known)?.reliable, true)
      assert.strictEqual(lines(web, "subscribe").length, 0)
    }).pipe(Effect.provide(layer)))

  it.effect("still relies on a hub whose push arrives during a poll with the same entry, or causes the poll", () =>
    Effect.gen(function*() {
      const web = yield* pushedOnce
      const open = yield* Deferred.make<void>()
      web.serve(feed, () => Effect.as(Deferred.await(open), advertising(["third", "second", "first"])))
      yield* Hub.use((service) => service.publish([feed]))
      yield* TestClock.adjust("1 second")
      assert.strictEqual(lines(web, "poll").length, 1)
      const pushing = yield* Effect.forkChild(push("callback-1", ["third"]))
      yield* TestClock.adjust("1 second")
      yield* Deferred.succeed(open, undefined)
      yield* Fiber.join(pushing)
      yield* TestClock.adjust("6 minutes")
      publish(web, "fourth", "third", "second", "first")
      const pinging = yield* Effect.forkChild(pushBytes("callback-1", new TextEncoder().encode("<html")))
      yield* TestClock.adjust("6 minutes")
      yield* Fiber.join(pinging)
      assert.strictEqual(lines(web, "post good.hooks.example/ fourth").length, 1)
      assert.deepStrictEqual([(yield* known)?.reliable, lines(web, "subscribe")], [true, []])
    }).pipe(Effect.provide(layer)))

  it.effect("is fetched when a push could not be stored in time, because pushes are not kept", () =>
    Effect.gen(function*() {
      const web = yield* pushedOnce
      const open = yield* Deferred.make<void>()
      web.serve(feed, () => Effect.as(Deferred.await(open), advertising(["second", "first"])))
      yield* Hub.use((service) => service.publish([feed]))
      yield* TestClock.adjust("1 second")
      const pushing = yield* Effect.forkChild(Effect.flip(push("callback-1", ["third"])))
      yield* TestClock.adjust("8 seconds")
      yield* Fiber.join(pushing)
      yield* Deferred.succeed(open, undefined)
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(lines(web, "poll").length, 2)
      assert.deepStrictEqual(lines(web, "post"), [])
    }).pipe(Effect.provide(layer)))

  it.effect("is fetched when its hub pushes another resource's document or another kind of document", () =>
    Effect.gen(function*() {
      const web = yield* started
      const other = "http://feeds.example/other"
      const cases: ReadonlyArray<readonly [string, string, string]> = [
        ["http://page.example/", "<html", other],
        ["http://feed.example/", "[\"first\"]", other],
        ["http://json.example/", "{\"a\":1}", "http://json.example/"]
      ]
      for (const [i, [url, text, self]] of cases.entries()) {
        const answer = { ...documentOf([]), body: new TextEncoder().encode(text), signature: BigInt(i + 1) }
        web.serve(
          url,
          () => Effect.succeed({ ...answer, headers: { link: `<${hub}>; rel=hub, <${self}>; rel=self` } })
        )
        yield* subscribe("good", { topic: url })
        yield* TestClock.adjust("3 seconds")
        const callback = `callback-${i + 1}`
        assert.strictEqual(yield* Hub.use((it) => it.confirmIntent(callback, { mode: "subscribe", topic: self })), true)
        const find = Effect.flatMap(ResourceStore, (it) => Effect.map(it.find(url), Option.getOrThrow))
        const before = yield* find
        web.log.length = 0
        const pushing = yield* Effect.forkChild(push(callback, ["invented"]))
        yield* TestClock.adjust("2 seconds")
        yield* Fiber.join(pushing)
        assert.strictEqual((yield* find).kind, before.kind)
        assert.deepStrictEqual(untimed(web), [`poll ${url.slice(7)}`])
      }
    }).pipe(Effect.provide(layer)))

  it.effect("does not rely on a hub with misses for other resources, until the hub pushes again", () =>
    Effect.gen(function*() {
      const web = yield* pushedOnce
      const store = yield* HubSubscriptionStore
      publish(web, "second", "first")
      yield* store.addCounts([{ hub, pushed: 0, missed: 3, consecutiveMisses: 3 }])
      yield* TestClock.adjust("6 minutes")
      assert.isAtLeast(lines(web, "poll").length, 4)
      yield* push("callback-1", ["third"])
      yield* TestClock.adjust("2 minutes")
      web.log.length = 0
      yield* TestClock.adjust("6 minutes")
      assert.deepStrictEqual(lines(web, "poll"), [])
    }).pipe(Effect.provide(layer)))

  it.effect("renews its lease at half its length", () =>
    Effect.gen(function*() {
      const web = yield* followed
      assert.strictEqual(yield* agree("callback-1", 1_200), true)
      yield* TestClock.adjust("9 minutes")
      assert.deepStrictEqual(lines(web, "subscribe"), [])
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(lines(web, "subscribe feeds.example/a at hub.example/ as callback-1").length, 1)
      assert.strictEqual(yield* agree("callback-1"), true)
      assert.isAbove((yield* known)?.leaseUntil ?? 0, 864_000_000 + 10 * 60_000)
    }).pipe(Effect.provide(layer)))

  it.effect("unsubscribes at the hub without subscribers, and returns with another callback", () =>
    Effect.gen(function*() {
      const web = yield* followed
      yield* unsubscribe("good")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(untimed(web), ["unsubscribe feeds.example/a at hub.example/ as callback-1"])
      assert.isUndefined(yield* Hub.use((service) => service.findReceiver("callback-1")))
      assert.strictEqual(yield* agree("callback-1", 0, "unsubscribe"), true)
      assert.strictEqual(yield* agree("callback-1", 0, "unsubscribe"), false)
      yield* subscribe("good")
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(lines(web, "subscribe feeds.example/a at hub.example/ as callback-2").length, 1)
    }).pipe(Effect.provide(layer)))

  it.effect("retries with growing waits after a rejection or without verification; an early verification counts", () =>
    Effect.gen(function*() {
      const web = yield* started
      publish(web, "first")
      web.hub(() => Effect.fail(new HubRequestError({ message: "the hub answered 500" })))
      yield* subscribe("good")
      yield* TestClock.adjust("16 minutes")
      const requestTimes = lines(web, "subscribe").map((line) => Number(line.split("s ")[0]))
      assert.deepStrictEqual(requestTimes.map((at) => at - (requestTimes[0] ?? 0)), [0, 300, 900])
      // a hub of old verifies first, and then fails to say so
      const service = yield* Hub
      web.hub(({ callback }) =>
        Effect.andThen(
          Effect.orDie(service.confirmIntent(callback, { mode: "subscribe", topic })),
          Effect.fail(new HubRequestError({ message: "no answer" }))
        )
      )
      yield* TestClock.adjust("20 minutes")
      assert.strictEqual((yield* known)?.state, "active")
    }).pipe(Effect.provide(layer)))

  it.effect("accepts a denial", () =>
    Effect.gen(function*() {
      const web = yield* pushedOnce
      const denied = yield* Hub.use((service) =>
        service.confirmIntent("callback-1", { mode: "denied", topic, reason: "no" })
      )
      assert.strictEqual(denied, true)
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(lines(web, "subscribe"), [])
      assert.isAbove(lines(web, "poll").length, 7)
      assert.strictEqual((yield* known)?.problem, "the hub denies: no")
    }).pipe(Effect.provide(layer)))

  it.effect("unsubscribes at a hub that is no longer advertised", () =>
    Effect.gen(function*() {
      const web = yield* followed
      web.serve(feed, () => Effect.succeed(advertising(["second", "first"], "")))
      yield* TestClock.adjust("2 minutes")
      assert.strictEqual(lines(web, "unsubscribe").length, 1)
      yield* agree("callback-1", 0, "unsubscribe")
      yield* TestClock.adjust("1 second")
      assert.isUndefined(yield* known)
    }).pipe(Effect.provide(layer)))

  for (const kind of ["a feed", "a document"]) {
    it.effect(`leaves the hub of one who held ${kind} for minutes, although that pushes the very bytes of the owner`, () =>
      Effect.gen(function*() {
        const web = yield* started
        const serve = (text: string, hub: string) => {
          const body = new TextEncoder().encode(text)
          const headers = { "content-type": "text/plain", link: `<${hub}>; rel=hub` }
          web.serve(feed, () => Effect.succeed({ ...documentOf([]), headers, body, signature: hashBytes(body) }))
        }
        const own = kind === "a feed" ? "[\"own\"]" : "own"
        serve(kind === "a feed" ? "[\"evil\"]" : "evil", "http://evil.example/")
        yield* subscribe("good")
        yield* TestClock.adjust("1 second")
        const service = yield* Hub
        yield* service.confirmIntent("callback-1", { mode: "subscribe", topic: feed, leaseSeconds: 864_000 })
        serve(own, hub)
        const receiver = (yield* service.findReceiver("callback-1")) ?? assert.fail("nobody receives")
        yield* service.acceptPush(receiver, { contentType: "text/plain", body: new TextEncoder().encode(own) })
        yield* TestClock.adjust("20 minutes")
        assert.strictEqual((yield* known)?.hub, hub)
        assert.strictEqual(lines(web, "post").length, 1)
        const resource = Option.getOrThrow(yield* (yield* ResourceStore).find(feed))
        assert.isUndefined(resource.serverProfile?.statusBeforePush)
      }).pipe(Effect.provide(layer)))
  }

  it.effect("unsubscribes within a day at the hub of an impostor with the owner's bytes and another Link header", () =>
    Effect.gen(function*() {
      const { web } = yield* watchTopics()
      let link = "<http://evil.example/>; rel=hub"
      web.serve(feed, () => Effect.sync(() => advertising(["first"], link)))
      yield* TestClock.adjust("1 hour")
      assert.strictEqual((yield* known)?.hub, "http://evil.example/")
      link = ""
      yield* TestClock.adjust("1 day")
      assert.isUndefined(yield* known)
      link = `<${hub}>; rel=hub`
      yield* TestClock.adjust("1 day")
      assert.strictEqual((yield* known)?.hub, hub)
      assert.deepStrictEqual(lines(web, "post"), [])
    }).pipe(Effect.provide(layerPartition({ upstreamHubs: true, baseUrl: "https://push.example.org" }))))

  it.effect("spaces requests to hubs of one site by a second, however few waiting actors stay in memory", () =>
    Effect.gen(function*() {
      const web = yield* started
      const topics = Array.from({ length: 5 }, (_, i) => `http://h${i}.example/feed`)
      for (const topic of topics) {
        web.serve(topic, () => Effect.succeed(advertising(["1"], "<http://hub.example/>; rel=hub")))
        yield* subscribe("good", { topic })
      }
      yield* TestClock.adjust("10 seconds")
      const requestTimes = lines(web, "subscribe").map((line) => Number(line.split("s ")[0]))
      assert.deepStrictEqual(requestTimes.map((at) => at - (requestTimes[0] ?? 0)), [0, 1, 2, 3, 4])
    }).pipe((test) =>
      Effect.forEach([on, { ...on, maxResident: 1 }], (settings) => Effect.provide(test, layerWith(settings)), {
        discard: true
      })
    ))

  it.effect("is only polled where hubs cannot reach the service, or the hub is the service", () =>
    Effect.gen(function*() {
      const web = yield* started
      publish(web, "first")
      yield* subscribe("good")
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(lines(web, "subscribe"), [])
    }).pipe((test) =>
      Effect.forEach(
        [{ baseUrl: "http://localhost:8080" }, { ...on, upstreamHubs: false }, {
          ...on,
          baseUrl: "http://hub.example"
        }],
        (settings) => Effect.provide(test, layerWith(settings)),
        { discard: true }
      )
    ))

  it.effect("restores its hub subscription and its reliance after a restart", () =>
    Effect.gen(function*() {
      const before = yield* Effect.scoped(Effect.provide(pushedOnce, layerRunner))
      before.log.length = 0
      yield* Effect.gen(function*() {
        yield* TestClock.adjust("1 second")
        publish(before, "second", "first")
        yield* TestClock.adjust("10 minutes")
        assert.deepStrictEqual(untimed(before), [])
        yield* push("callback-1", ["third"])
        yield* TestClock.adjust(0)
        assert.deepStrictEqual(untimed(before), ["post good.hooks.example/ third try 0"])
        assert.strictEqual(yield* agree("callback-1", 1_200), true)
        yield* TestClock.adjust("10 minutes")
        assert.strictEqual(lines(before, "subscribe").length, 1)
      }).pipe(Effect.provide(layerRunner), Effect.scoped)
    }).pipe(Effect.provide(layerOutside), Effect.provide(Settings.layerValues(on))))
})
