import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import { Hub, type SubscribeRequest } from "#actors/operations/Hub.ts"
import { anonymous } from "#domain/Account.ts"
import { hashBytes } from "#domain/Fingerprint.ts"
import { DeliveryLog } from "#domain/ports/DeliveryLog.ts"
import { type Intent, IntentNotConfirmed } from "#domain/ports/IntentVerifier.ts"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import { type NewSubscription, SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import type { Refusal } from "#domain/Refusal.ts"
import { partitionOf } from "#domain/Topic.ts"
import * as Settings from "#layers/Settings.ts"
import * as MemoryStores from "#test/fakes/MemoryStores.ts"
import { feed, hook, lines, started } from "#test/support/HubCalls.ts"
import { layer, layerOutside, layerRunner, layerWith, SimulatedWeb } from "#test/support/SimulatedWeb.ts"

const day = 86_400

const subscribe = Effect.fnUntraced(function*(name: string, options: Partial<SubscribeRequest> = {}) {
  const hub = yield* Hub
  const request = { caller: anonymous, topic: feed, callback: hook(name), face: "hub" as const, retrieve: false }
  return (yield* hub.subscribe({ ...request, ...options })).outcome
})

const unsubscribe = Effect.fnUntraced(function*(name: string, verify?: "sync") {
  const hub = yield* Hub
  const request = { caller: anonymous, topic: feed, callback: hook(name), face: "hub" as const }
  return yield* hub.unsubscribe(verify === undefined ? request : { ...request, verify })
})

const refusalOf = <A, R>(effect: Effect.Effect<A, Refusal, R>) =>
  Effect.map(Effect.flip(effect), ({ reason }) => reason)

/** Records the verifications of callbacks, as `subscribe good 864000`. */
const recordIntents = (
  web: SimulatedWeb["Service"],
  answer: (intent: Intent) => Effect.Effect<void, IntentNotConfirmed>
) => {
  const verifications: Array<string> = []
  web.verify((intent) =>
    Effect.suspend(() => {
      const name = /\/\/(.*?)\./.exec(intent.callback)?.[1]
      verifications.push(`${intent.mode} ${name} ${intent.leaseSeconds}`)
      return answer(intent)
    })
  )
  return verifications
}

const agree = () => Effect.void
const refuse = () => new IntentNotConfirmed({ message: "Your callback didn't echo the challenge." })

/** Publishes an entry, and waits for its notifications. */
const news = Effect.fnUntraced(function*(ids: ReadonlyArray<string>) {
  const web = yield* SimulatedWeb
  web.publish(feed, ids)
  yield* (yield* Hub).publish([feed])
  yield* TestClock.adjust("2 seconds")
})

/** The answer of the publisher, with a feed of these ids. */
const documentOf = (ids: ReadonlyArray<string>) => {
  const body = new TextEncoder().encode(JSON.stringify(ids))
  return {
    status: 200,
    headers: { "content-type": "application/xml" },
    body,
    signature: hashBytes(body),
    finalUrl: feed
  }
}

const posts = (web: SimulatedWeb["Service"], name: string) =>
  web.parcels.filter(({ callback }) => callback === hook(name)).map(({ body }) => new TextDecoder().decode(body))

const wanted = (name: string): NewSubscription => ({
  accountId: anonymous.account.id,
  topic: { given: feed, canonical: feed, host: "feeds.example" },
  partition: partitionOf("feeds.example"),
  channel: "webhook",
  endpoint: hook(name),
  host: `${name}.hooks.example`,
  face: "hub",
  state: "active"
})

/** A subscription as it was granted some time ago, whose lease ends at `leaseUntil`, epoch ms. */
const leased = Effect.fnUntraced(function*(name: string, leaseUntil: number) {
  yield* subscribe(name, { verify: "sync" })
  yield* (yield* SubscriptionStore).subscribe({ ...wanted(name), leaseUntil })
})

const known = Effect.fnUntraced(function*(name: string) {
  const store = yield* SubscriptionStore
  return Option.getOrUndefined(yield* store.find(wanted(name)))
})

describe("the hub face, subscribing", () => {
  it.effect("answers at once, asks with the lease, and sends the topic itself from then on", () =>
    Effect.gen(function*() {
      const web = yield* started
      const verifications = recordIntents(web, agree)
      web.publish(feed, ["first"])
      assert.strictEqual(yield* subscribe("good", { secret: "s", signature: "sha256" }), "pending")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(verifications, ["subscribe good 864000"])
      yield* news(["b", "first"])
      assert.deepStrictEqual(posts(web, "good"), ["[\"b\",\"first\"]"])
      const [parcel] = web.parcels
      assert.deepStrictEqual([parcel?.secret, parcel?.signature, parcel?.contentType], [
        "s",
        "sha256",
        "application/xml"
      ])
      assert.deepStrictEqual(parcel?.headers.filter(([name]) => !name.startsWith("X-PubSubHubbub-")), [
        ["X-Windhover-Notification-Id", parcel?.headers.find(([name]) => name.endsWith("-Id"))?.[1] ?? ""],
        ["X-Windhover-Sequence", "1"],
        ["Link", `<http://localhost:8080/hub>; rel="hub", <${feed}>; rel="self"`]
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("asks first: until the callback agrees there is no resource, no fetch and no row", () =>
    Effect.gen(function*() {
      const web = yield* started
      const hub = yield* Hub
      const resources = yield* ResourceStore
      web.publish(feed, ["first"])
      const consent = yield* Deferred.make<void>()
      recordIntents(web, () => Deferred.await(consent))
      for (const verify of ["async", "sync"] as const) {
        yield* Effect.forkChild(Effect.ignore(subscribe(verify, { verify })))
      }
      yield* TestClock.adjust("3 seconds")
      yield* hub.publish([feed])
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual([lines(web, "poll"), yield* resources.find(feed)], [[], Option.none()])
      assert.deepStrictEqual([yield* known("async"), yield* known("sync")], [undefined, undefined])
      yield* Deferred.succeed(consent, undefined)
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual([(yield* known("async"))?.state, (yield* known("sync"))?.state], ["active", "active"])
      assert.isAtLeast(lines(web, "poll").length, 1)
    }).pipe(Effect.provide(layer)))

  it.effect("makes the first document news after a ping that comes before its record", () =>
    Effect.gen(function*() {
      const web = yield* started
      const hub = yield* Hub
      const answer = yield* Deferred.make<void>()
      web.serve(feed, () => Effect.as(Deferred.await(answer), documentOf(["b", "first"])))
      yield* subscribe("good")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual([(yield* known("good"))?.state, lines(web, "poll").length], ["active", 1])
      yield* hub.publish([feed])
      yield* TestClock.adjust("1 second")
      yield* Deferred.succeed(answer, undefined)
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(posts(web, "good"), ["[\"b\",\"first\"]"])
      yield* news([])
      assert.strictEqual(posts(web, "good").length, 1)
      web.serve(feed, () => Effect.succeed(documentOf(["c", "b", "first"])))
      yield* news([])
      assert.strictEqual(posts(web, "good").length, 2)
    }).pipe(Effect.provide(layer)))

  it.effect("makes the first document news after a ping that comes before the row of the subscription", () =>
    Effect.gen(function*() {
      const web = yield* started
      const hub = yield* Hub
      web.publish(feed, ["b", "first"])
      recordIntents(web, () => Effect.ignore(hub.publish([feed])))
      yield* subscribe("good")
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(posts(web, "good"), ["[\"b\",\"first\"]"])
    }).pipe(Effect.provide(layer)))

  it.effect("without a ping has the first document as its baseline", () =>
    Effect.gen(function*() {
      const web = yield* started
      web.publish(feed, ["b", "first"])
      yield* subscribe("good")
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(posts(web, "good"), [])
    }).pipe(Effect.provide(layer)))

  it.effect("leaves nothing when the callback refuses", () =>
    Effect.gen(function*() {
      const web = yield* started
      const hub = yield* Hub
      const resources = yield* ResourceStore
      web.publish(feed, ["first"])
      const refusal = yield* Deferred.make<void, IntentNotConfirmed>()
      recordIntents(web, () => Deferred.await(refusal))
      yield* subscribe("bad")
      yield* TestClock.adjust("3 seconds")
      web.publish(feed, ["b", "first"])
      yield* hub.publish([feed])
      yield* TestClock.adjust("3 seconds")
      yield* Deferred.fail(refusal, refuse())
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual([yield* known("bad"), posts(web, "bad"), lines(web, "poll")], [undefined, [], []])
      assert.deepStrictEqual(yield* resources.find(feed), Option.none())
    }).pipe(Effect.provide(layer)))

  it.effect("to what nobody watched for long tells no old news", () =>
    Effect.gen(function*() {
      const web = yield* started
      web.publish(feed, ["first"])
      yield* subscribe("good")
      yield* TestClock.adjust("1 second")
      yield* unsubscribe("good")
      yield* TestClock.adjust("3 minutes")
      web.publish(feed, ["old", "first"])
      yield* subscribe("good")
      yield* TestClock.adjust("2 minutes")
      assert.deepStrictEqual(posts(web, "good"), [])
      yield* news(["new", "old", "first"])
      assert.strictEqual(posts(web, "good").length, 1)
    }).pipe(Effect.provide(layer)))

  it.effect("twice gives one subscription and one notification", () =>
    Effect.gen(function*() {
      const web = yield* started
      const verifications = recordIntents(web, agree)
      web.publish(feed, ["first"])
      yield* subscribe("good")
      yield* TestClock.adjust("1 second")
      yield* subscribe("good")
      yield* TestClock.adjust("1 second")
      yield* news(["b", "first"])
      assert.deepStrictEqual(verifications, ["subscribe good 864000", "subscribe good 864000"])
      assert.strictEqual(posts(web, "good").length, 1)
    }).pipe(Effect.provide(layer)))

  it.effect("coexists with an API subscription of the same topic and callback", () =>
    Effect.gen(function*() {
      const web = yield* started
      web.publish(feed, ["first"])
      yield* (yield* Hub).subscribe({
        caller: { ...anonymous, account: { ...anonymous.account, id: 1 } },
        topic: feed,
        callback: hook("good"),
        face: "api",
        retrieve: false
      })
      yield* subscribe("good")
      yield* TestClock.adjust("1 second")
      yield* news(["b", "first"])
      const bodies = posts(web, "good").toSorted()
      assert.strictEqual(bodies.length, 2)
      assert.match(bodies[0] ?? "", /^<\?xml/)
      assert.strictEqual(bodies[1], "[\"b\",\"first\"]")
    }).pipe(Effect.provide(layer)))

  it.effect("leaves nothing after a rejection, and sends the reason to the callback", () =>
    Effect.gen(function*() {
      const web = yield* started
      recordIntents(web, refuse)
      yield* subscribe("bad")
      yield* TestClock.adjust("3 seconds")
      const denials = lines(web, "deny").map((line) => line.replace(/^\S+ /, ""))
      assert.deepStrictEqual(denials, ["deny bad.hooks.example/ Your callback didn't echo the challenge."])
      const log = yield* (yield* DeliveryLog).list({ accountId: anonymous.account.id, limit: 10 })
      assert.deepStrictEqual(
        log.items.map(({ endpoint, outcome, message, reason, topic }) => [outcome, reason, endpoint, topic, message]),
        [["denied", "refused-intent", hook("bad"), feed, "Your callback didn't echo the challenge."]]
      )
      assert.strictEqual(yield* known("bad"), undefined)
    }).pipe(Effect.provide(layer)))

  it.effect("keeps the old state until a repeated subscribe is verified", () =>
    Effect.gen(function*() {
      const web = yield* started
      web.publish(feed, ["first"])
      yield* subscribe("good", { secret: "old", leaseSeconds: 2 * day })
      yield* TestClock.adjust("1 second")
      const before = yield* known("good")
      assert.deepStrictEqual([before?.secret, before?.state], ["old", "active"])
      assert.closeTo(before?.leaseUntil ?? 0, 1_500 + 2 * day * 1000, 500)
      recordIntents(web, refuse)
      yield* subscribe("good", { secret: "new" })
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* known("good"), before)
      const consent = yield* Deferred.make<void>()
      recordIntents(web, () => Deferred.await(consent))
      yield* subscribe("good", { secret: "new" })
      yield* TestClock.adjust("1 second")
      yield* news(["b", "first"])
      assert.deepStrictEqual(web.parcels.map(({ secret }) => secret), ["old"])
      yield* Deferred.succeed(consent, undefined)
      yield* TestClock.adjust("1 second")
      yield* news(["c", "b", "first"])
      assert.deepStrictEqual(web.parcels.map(({ secret }) => secret), ["old", "new"])
    }).pipe(Effect.provide(layer)))

  it.effect("answers with the outcome when verification is sync", () =>
    Effect.gen(function*() {
      const web = yield* started
      assert.strictEqual(yield* subscribe("good", { verify: "sync" }), "done")
      recordIntents(web, refuse)
      const reason = yield* refusalOf(subscribe("bad", { verify: "sync" }))
      assert.deepStrictEqual([reason._tag, reason.message], ["NotVerified", "Your callback didn't echo the challenge."])
      assert.deepStrictEqual(lines(web, "deny"), [])
      assert.deepStrictEqual([(yield* known("good"))?.state, yield* known("bad")], ["active", undefined])
      assert.strictEqual((yield* refusalOf(unsubscribe("good", "sync")))._tag, "NotVerified")
      const log = yield* DeliveryLog.use(({ list }) => list({ accountId: anonymous.account.id, limit: 10 }))
      assert.deepStrictEqual(log.items.map(({ endpoint, outcome }) => [outcome, endpoint]), [["denied", hook("bad")]])
    }).pipe(Effect.provide(layer)))

  it.effect("grants a lease of a day to ninety", () =>
    Effect.gen(function*() {
      const web = yield* started
      const verifications = recordIntents(web, agree)
      for (const leaseSeconds of [0, 1, day, 90 * day, 90 * day + 1, 1e15]) {
        yield* subscribe("good", { leaseSeconds, verify: "sync" })
      }
      assert.deepStrictEqual(verifications.map((line) => line.split(" ")[2]), [
        "86400",
        "86400",
        "86400",
        "7776000",
        "7776000",
        "7776000"
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("resumes after the death of the runner", () =>
    Effect.gen(function*() {
      const web = yield* SimulatedWeb
      web.publish(feed, ["first"])
      const verifications = recordIntents(web, () => Effect.never)
      yield* Effect.gen(function*() {
        yield* started
        yield* subscribe("good")
        yield* TestClock.adjust("1 second")
      }).pipe(Effect.provide(layerRunner))
      assert.strictEqual(verifications.length, 1)
      const again = recordIntents(web, agree)
      yield* Effect.gen(function*() {
        yield* TestClock.adjust("58 seconds")
        assert.deepStrictEqual(again, [])
        yield* TestClock.adjust("5 seconds")
        assert.deepStrictEqual(again, ["subscribe good 864000"])
        assert.strictEqual((yield* known("good"))?.state, "active")
      }).pipe(Effect.provide(layerRunner))
    }).pipe(Effect.provide(Layer.provideMerge(layerOutside, Settings.layerValues()))))

  it.effect("waits for the database instead of failing", () =>
    Effect.gen(function*() {
      const web = yield* started
      const faults = yield* MemoryStores.Faults
      const consent = yield* Deferred.make<void>()
      const verifications = recordIntents(web, () => Deferred.await(consent))
      yield* subscribe("good")
      yield* TestClock.adjust("1 second")
      yield* faults.down
      yield* Deferred.succeed(consent, undefined)
      yield* TestClock.adjust("10 seconds")
      assert.deepInclude(yield* refusalOf(subscribe("other")), { _tag: "Unavailable" })
      yield* faults.up
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(verifications, ["subscribe good 864000", "subscribe good 864000"])
      assert.deepStrictEqual([(yield* known("good"))?.state, lines(web, "deny")], ["active", []])
    }).pipe(Effect.provide(layer)))
})

describe("the hub face, leases", () => {
  it.effect("end delivery exactly, in the queue as well, and polling with it", () =>
    Effect.gen(function*() {
      const web = yield* started
      web.publish(feed, ["first"])
      yield* leased("good", 100_000)
      yield* leased("slow", 100_000)
      web.answer(hook("slow"), () => Effect.succeed(500))
      yield* TestClock.setTime(90_000)
      yield* news(["b", "first"])
      assert.deepStrictEqual([posts(web, "good").length, posts(web, "slow").length], [1, 1])
      yield* TestClock.setTime(99_999)
      assert.strictEqual(posts(web, "slow").length, 2)
      yield* TestClock.setTime(100_000)
      yield* news(["c", "b", "first"])
      yield* TestClock.adjust("2 minutes")
      assert.deepStrictEqual([posts(web, "good").length, posts(web, "slow").length], [1, 2])
      const polls = lines(web, "poll").length
      yield* TestClock.adjust("5 minutes")
      assert.strictEqual(lines(web, "poll").length, polls)
      assert.deepStrictEqual([yield* known("good"), yield* known("slow")], [undefined, undefined])
    }).pipe(Effect.provide(layer)))

  it.effect("are renewed by subscribing again", () =>
    Effect.gen(function*() {
      const web = yield* started
      web.publish(feed, ["first"])
      yield* leased("good", 60_000)
      yield* TestClock.setTime(50_000)
      yield* subscribe("good", { leaseSeconds: day })
      yield* TestClock.setTime(70_000)
      assert.closeTo((yield* known("good"))?.leaseUntil ?? 0, 60_000 + day * 1000, 10_000)
      yield* news(["b", "first"])
      assert.deepStrictEqual(posts(web, "good"), ["[\"b\",\"first\"]"])
    }).pipe(Effect.provide(layer)))

  it.effect("begin anew by subscribing after their end", () =>
    Effect.gen(function*() {
      const web = yield* started
      web.publish(feed, ["first"])
      yield* leased("good", 5_000)
      yield* TestClock.setTime(6_000)
      yield* subscribe("good")
      yield* TestClock.setTime(7_000)
      yield* news(["b", "first"])
      assert.strictEqual(posts(web, "good").length, 1)
    }).pipe(Effect.provide(layer)))
})

describe("the hub face, unsubscribing", () => {
  it.effect("verifies the intent, and sends nothing after the callback's consent", () =>
    Effect.gen(function*() {
      const web = yield* started
      web.publish(feed, ["first"])
      yield* subscribe("good", { verify: "sync" })
      const refused = recordIntents(web, refuse)
      assert.strictEqual(yield* unsubscribe("good"), "pending")
      yield* TestClock.adjust("1 second")
      yield* news(["b", "first"])
      assert.strictEqual(posts(web, "good").length, 1)
      const verifications = recordIntents(web, agree)
      assert.strictEqual(yield* unsubscribe("good"), "pending")
      yield* TestClock.adjust("1 second")
      yield* news(["c", "b", "first"])
      assert.strictEqual(posts(web, "good").length, 1)
      assert.deepStrictEqual([...refused, ...verifications], ["unsubscribe good ", "unsubscribe good "])
      assert.deepStrictEqual(lines(web, "deny"), [])
    }).pipe(Effect.provide(layer)))

  it.effect("of a stranger does not cancel a waiting subscribe: both are verified, and the callback decides", () =>
    Effect.gen(function*() {
      const web = yield* started
      const verifications = recordIntents(
        web,
        ({ mode, verifyToken }) => mode === "subscribe" && verifyToken === "mine" ? Effect.void : Effect.fail(refuse())
      )
      yield* subscribe("good", { verifyToken: "mine" })
      yield* unsubscribe("good")
      yield* subscribe("good", { secret: "a stranger's" })
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(verifications, ["subscribe good 864000", "unsubscribe good ", "subscribe good 864000"])
      assert.deepInclude(yield* known("good"), { state: "active" })
      assert.notProperty(yield* known("good"), "secret")
    }).pipe(Effect.provide(layer)))

  it.effect("rejects a callback at the hub itself, under any of its names", () =>
    Effect.gen(function*() {
      const web = yield* started
      const verifications = recordIntents(web, agree)
      for (const callback of ["https://push.example.org/w/upstream/abc", "http://PUSH.example.org./w/"]) {
        assert.deepInclude(yield* refusalOf(subscribe("good", { callback, verify: "sync" })), {
          _tag: "BadParameter",
          parameter: "hub.callback"
        })
      }
      assert.deepStrictEqual(verifications, [])
      yield* subscribe("good", { callback: "https://push.example.org/elsewhere", verify: "sync" })
      assert.strictEqual(verifications.length, 1)
    }).pipe(Effect.provide(layerWith({ baseUrl: "https://push.example.org/w" }))))

  it.effect("rejects a missing subscription, and cancels a waiting one", () =>
    Effect.gen(function*() {
      const web = yield* started
      const consent = yield* Deferred.make<void>()
      const verifications = recordIntents(web, () => Deferred.await(consent))
      assert.deepInclude(yield* refusalOf(unsubscribe("good")), { _tag: "BadParameter", parameter: "hub.callback" })
      yield* subscribe("good")
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* unsubscribe("good"), "pending")
      yield* Deferred.succeed(consent, undefined)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(verifications, ["subscribe good 864000", "unsubscribe good "])
      assert.strictEqual(yield* known("good"), undefined)
    }).pipe(Effect.provide(layer)))
})

describe("the hub face, delivering", () => {
  it.effect("sends no notification of a failure, which is not content", () =>
    Effect.gen(function*() {
      const web = yield* started
      web.publish(feed, ["first"])
      yield* subscribe("good", { verify: "sync" })
      web.serve(feed, () =>
        Effect.succeed({ status: 404, headers: {}, body: new Uint8Array(), signature: 0n, finalUrl: feed }))
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(posts(web, "good"), [])
    }).pipe(Effect.provide(layer)))

  it.effect("passes a document other than a feed with its bytes and type", () =>
    Effect.gen(function*() {
      const web = yield* started
      const body = Uint8Array.of(0xff, 0, 0x41)
      const page = (bytes: Uint8Array) => () =>
        Effect.succeed({
          status: 200,
          headers: { "content-type": "text/plain; charset=iso-8859-1" },
          body: bytes,
          signature: hashBytes(bytes),
          finalUrl: feed
        })
      web.serve(feed, page(Uint8Array.of(1)))
      yield* subscribe("good", { verify: "sync" })
      web.serve(feed, page(body))
      yield* (yield* Hub).publish([feed])
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(web.parcels.map(({ body, contentType }) => [contentType, body]), [
        ["text/plain; charset=iso-8859-1", body]
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("retries after 5, 10, 20 s and so on", () =>
    Effect.gen(function*() {
      const web = yield* started
      web.publish(feed, ["first"])
      yield* subscribe("good", { verify: "sync" })
      web.answer(hook("good"), () => Effect.succeed(503))
      yield* news(["b", "first"])
      yield* TestClock.adjust("11 minutes")
      const times = lines(web, "post").map((line) => Number.parseFloat(line))
      const waits = times.slice(1).map((time, i) => Math.round(time - (times[i] ?? 0)))
      assert.deepStrictEqual(waits, [5, 10, 20, 40, 80, 160, 320])
    }).pipe(Effect.provide(layer)))

  it.effect("ends when the callback is gone", () =>
    Effect.gen(function*() {
      const web = yield* started
      web.publish(feed, ["first"])
      yield* subscribe("good", { verify: "sync" })
      web.answer(hook("good"), () => Effect.succeed(410))
      yield* news(["b", "first"])
      yield* news(["c", "b", "first"])
      assert.strictEqual(posts(web, "good").length, 1)
      assert.strictEqual(yield* known("good"), undefined)
    }).pipe(Effect.provide(layer)))
})

describe("the hub face, callbacks that move", () => {
  /** A verified callback whose name leads to another network afterwards. */
  const moved = Effect.gen(function*() {
    const web = yield* started
    web.networks.set("good.hooks.example", "192.0.2.0/24")
    web.publish(feed, ["first"])
    yield* subscribe("good", { verify: "sync" })
    web.networks.set("good.hooks.example", "198.51.100.0/24")
    return web
  })

  it.effect("are asked again after a failure at the new network, and get nothing there before they agree", () =>
    Effect.gen(function*() {
      const web = yield* moved
      web.answer(hook("good"), () => Effect.succeed(404))
      const asked = recordIntents(web, refuse)
      yield* news(["b", "first"])
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(lines(web, "post good").length, 1)
      // 5, 10, 20, 40, 80, 160, 320, 640 and 1,280 s later
      assert.strictEqual(lines(web, "hold good").length, 9)
      assert.strictEqual(asked.length, 10)
      assert.strictEqual(asked[0], "subscribe good 863997")
      assert.deepStrictEqual(lines(web, "deny"), [])
      assert.deepInclude(yield* known("good"), { state: "active", network: "192.0.2.0/24" })

      recordIntents(web, agree)
      web.answer(hook("good"), () => Effect.succeed(200))
      yield* TestClock.adjust("3 hours")
      assert.deepInclude(yield* known("good"), { network: "198.51.100.0/24" })
      assert.strictEqual(lines(web, "post good").length, 2)
      assert.strictEqual(posts(web, "good").at(-1), "[\"b\",\"first\"]")
    }).pipe(Effect.provide(layer)))

  it.effect("are not asked while they accept small documents, and before they get a large one", () =>
    Effect.gen(function*() {
      const web = yield* moved
      const asked = recordIntents(web, agree)
      yield* news(["b", "first"])
      assert.deepStrictEqual([lines(web, "post good").length, asked.length], [1, 0])
      yield* news(["x".repeat(70_000), "b", "first"])
      assert.deepStrictEqual([lines(web, "post good").length, lines(web, "hold good").length], [1, 1])
      yield* TestClock.adjust("6 seconds")
      assert.deepStrictEqual([lines(web, "post good").length, asked.length], [2, 1])
    }).pipe(Effect.provide(layer)))
})

describe("the hub face, callbacks that fail", () => {
  it.effect("lose their lease after 24 h of failures, and the log tells why", () =>
    Effect.gen(function*() {
      const web = yield* started
      web.publish(feed, ["first"])
      yield* subscribe("good", { verify: "sync", leaseSeconds: 10 * day })
      web.answer(hook("good"), () => Effect.succeed(503))
      yield* news(["b", "first"])
      yield* TestClock.adjust("23 hours")
      yield* news(["c", "b", "first"])
      assert.deepInclude(yield* known("good"), { state: "active" })
      yield* TestClock.adjust("61 minutes")
      assert.strictEqual(yield* known("good"), undefined)
      const { items: [end] } = yield* (yield* DeliveryLog).list({ accountId: 0, limit: 1 })
      assert.deepInclude(end, {
        outcome: "ended",
        code: 503,
        message: "All attempts have failed for 24 h, which ends the lease. The last one: The callback answered 503."
      })
    }).pipe(Effect.provide(layer)))

  it.effect("keep their lease when one attempt succeeds meanwhile", () =>
    Effect.gen(function*() {
      const web = yield* started
      web.publish(feed, ["first"])
      yield* subscribe("good", { verify: "sync", leaseSeconds: 10 * day })
      web.answer(hook("good"), (_, attempt) => Effect.succeed(attempt === 13 ? 200 : 503))
      yield* news(["b", "first"])
      yield* TestClock.adjust("20 hours")
      yield* news(["c", "b", "first"])
      yield* TestClock.adjust("10 hours")
      assert.deepInclude(yield* known("good"), { state: "active" })
    }).pipe(Effect.provide(layer)))
})

describe("the hub face, bounds", () => {
  it.effect("verifies a limited number per site and minute, and serves the other sites in turn", () =>
    Effect.gen(function*() {
      const web = yield* started
      const verifications = recordIntents(web, agree)
      for (let i = 0; i < 25; i++) yield* subscribe("good", { topic: `http://${i}.example/` })
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(verifications.length, 10)
      yield* TestClock.adjust("49 seconds")
      assert.strictEqual(verifications.length, 10)
      yield* TestClock.adjust("3 seconds")
      assert.strictEqual(verifications.length, 20)
      yield* TestClock.adjust("62 seconds")
      assert.strictEqual(verifications.length, 25)
    }).pipe(Effect.provide(layer)))

  it.effect("counts reported rejections, too", () =>
    Effect.gen(function*() {
      const web = yield* started
      const verifications = recordIntents(web, refuse)
      for (let i = 0; i < 20; i++) yield* subscribe("bad", { topic: `http://${i}.example/` })
      yield* TestClock.adjust("59 seconds")
      assert.strictEqual(verifications.length + lines(web, "deny").length, 10)
    }).pipe(Effect.provide(layer)))

  it.effect("answers an excess sync request with the time of the next attempt", () =>
    Effect.gen(function*() {
      yield* started
      yield* subscribe("good", { verify: "sync" })
      yield* TestClock.adjust("20 seconds")
      yield* subscribe("second", { verify: "sync" })
      assert.deepInclude(yield* refusalOf(subscribe("other", { verify: "sync" })), {
        _tag: "Throttled",
        retryAfter: 40
      })
    }).pipe(Effect.provide(layerWith({ hubQuestionsPerMinute: 2 }))))

  it.effect("queues at most a hundred verifications per site", () =>
    Effect.gen(function*() {
      const web = yield* started
      recordIntents(web, () => Effect.never)
      for (let i = 0; i < 100; i++) yield* subscribe("good", { topic: `http://${i}.example/` })
      assert.deepInclude(yield* refusalOf(subscribe("good")), { _tag: "Throttled", retryAfter: 60 })
      const elsewhere = { callback: "http://elsewhere.example/" }
      assert.strictEqual(yield* subscribe("good", elsewhere), "pending")
    }).pipe(Effect.provide(layer)))

  it.effect("limits the subscriptions of a site over all its hosts, and accepts renewals beyond the limit", () =>
    Effect.gen(function*() {
      yield* started
      yield* subscribe("good", { verify: "sync" })
      yield* subscribe("better", { topic: "http://b.example/", verify: "sync" })
      const reason = yield* refusalOf(subscribe("best", { topic: "http://c.example/" }))
      assert.strictEqual(reason._tag, "Throttled")
      assert.include(reason.message, "hooks.example have 2 subscriptions")
      assert.strictEqual(yield* subscribe("good", { verify: "sync" }), "done")
      const elsewhere = { callback: "http://good.elsewhere.example/", verify: "sync" as const }
      assert.strictEqual(yield* subscribe("good", elsewhere), "done")
    }).pipe(Effect.provide(layerWith({ hubSubscriptionsPerSite: 2 }))))

  it.effect("limits the subscriptions of a network over all its names, and accepts renewals beyond the limit", () =>
    Effect.gen(function*() {
      const web = yield* started
      const callbacks = ["a", "b", "c", "d"].map((name) => `http://${name}.invented-${name}.example/`)
      for (const callback of callbacks) web.networks.set(new URL(callback).hostname, "192.0.2.0/24")
      const [first = "", second = "", third = "", fourth = ""] = callbacks
      yield* subscribe("a", { callback: first, verify: "sync" })
      yield* subscribe("b", { callback: second, verify: "sync" })
      const reason = yield* refusalOf(subscribe("c", { callback: third }))
      assert.deepInclude(reason, {
        _tag: "Throttled",
        message:
          "The callbacks in the network of this address have 2 subscriptions; no more are accepted on this hub. Unsubscribe some.",
        retryAfter: 3_600
      })
      assert.strictEqual(yield* subscribe("a", { callback: first, verify: "sync" }), "done")
      // a name that resolves to another network at the request counts where it agrees
      web.networks.set(new URL(fourth).hostname, "198.51.100.0/24")
      recordIntents(web, () => Effect.sync(() => void web.networks.set(new URL(fourth).hostname, "192.0.2.0/24")))
      assert.strictEqual(yield* subscribe("d", { callback: fourth }), "pending")
      yield* TestClock.adjust("1 second")
      assert.include(lines(web, "deny").join(), "network of this address have 2 subscriptions")
    }).pipe(Effect.provide(layerWith({ hubSubscriptionsPerSite: 2 }))))

  it.effect("renews existing subscriptions after strangers have used up the limit of a site", () =>
    Effect.gen(function*() {
      const web = yield* started
      yield* subscribe("good", { verify: "sync" })
      const verifications = recordIntents(web, refuse)
      for (let i = 0; i < 100; i++) yield* subscribe("bad", { topic: `http://${i}.example/` })
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(verifications.length, 9)
      assert.strictEqual((yield* refusalOf(subscribe("bad", { verify: "sync" })))._tag, "Throttled")
      const renewed = recordIntents(web, agree)
      assert.strictEqual(yield* subscribe("good", { leaseSeconds: 2 * day }), "pending")
      assert.strictEqual(yield* subscribe("good", { verify: "sync", leaseSeconds: 3 * day }), "done")
      yield* TestClock.adjust("3 seconds")
      assert.sameMembers(renewed, [`subscribe good ${2 * day}`, `subscribe good ${3 * day}`])
    }).pipe(Effect.provide(layer)))

  it.effect("rejects impossible topics and callbacks", () =>
    Effect.gen(function*() {
      yield* started
      assert.include(
        (yield* refusalOf(subscribe("good", { topic: "ftp://a.example/" }))).message,
        "hub.topic has the scheme"
      )
      assert.include((yield* refusalOf(subscribe("good", { callback: "" }))).message, "Please provide a hub.callback")
    }).pipe(Effect.provide(layer)))
})
