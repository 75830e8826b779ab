import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { DeliveryReports } from "#actors/operations/DeliveryReports.ts"
import { Hub } from "#actors/operations/Hub.ts"
import { Recovery } from "#actors/operations/Recovery.ts"
import { Secrets } from "#actors/operations/Secrets.ts"
import { type Account, type Caller, rights, tokenRights } from "#domain/Account.ts"
import type { Event } from "#domain/Event.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { DiskRoom } from "#domain/ports/DiskRoom.ts"
import { EventLog } from "#domain/ports/EventLog.ts"
import { StoreError, WriteFailure } from "#domain/ports/StoreError.ts"
import { WriteProbe } from "#domain/ports/WriteProbe.ts"
import { matchAll } from "#domain/Search.ts"
import { feed, hook, lines, started, subscribe, unsubscribe } from "#test/support/HubCalls.ts"
import { caller, documentOf, layerWith, SimulatedWeb, statusOnly } from "#test/support/SimulatedWeb.ts"

const events = "http://hub.example/events"
const layer = layerWith({ baseUrl: "http://hub.example" })

const newCaller = Effect.fnUntraced(function*(login: string, admin: boolean) {
  const account = yield* (yield* AccountStore).create(login, Redacted.make("a password"), { admin })
  return callerOf(account, admin ? tokenRights : rights)
})

const callerOf = (
  account: Account,
  granted: ReadonlyArray<Caller["rights"] extends ReadonlySet<infer R> ? R : never>
): Caller => ({
  account,
  rights: new Set(granted),
  credential: `test ${account.id}`
})

const hubLost = (hub: string): Event => ({ type: "hub.lost", hub, message: "It misses pushes." })

const endedOf = (accountId: number, endpoint: string): Event => ({
  type: "subscription.ended",
  accountId,
  subscriptionId: 99,
  topic: feed,
  endpoint,
  reason: "gone",
  message: "Your callback answered 410."
})

const publish = (event: Event) => EventLog.use((log) => log.publish(event))

/** Types of the events in the JSON notifications to a callback, one list for each notification. */
const typesAt = Effect.fnUntraced(function*(name: string) {
  const { parcels } = yield* SimulatedWeb
  return parcels.filter(({ callback }) => callback === hook(name)).map(({ body }) =>
    JSON.parse(new TextDecoder().decode(body)).items.map((item: { event: { type: string } }) => item.event.type)
  )
})

const titles = Effect.fnUntraced(function*(who: Caller, topic = events) {
  const hub = yield* Hub
  const { entries } = yield* hub.retrieve({ caller: who, topic, count: 50 })
  return entries.map(({ title }) => title?.value)
})

const sentence = (endpoint: string) => `The subscription has ended: ${endpoint} for ${feed}.`

describe("the topic of events", () => {
  it.effect("sends new events to subscribers, numbered, and no fetch leaves the process", () =>
    Effect.gen(function*() {
      const web = yield* started
      yield* publish(endedOf(1, "https://before.example/"))
      yield* subscribe("watch", { topic: events, format: "json" })
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* typesAt("watch"), [])
      yield* publish(endedOf(1, "https://one.example/"))
      yield* publish(endedOf(1, "https://two.example/"))
      yield* TestClock.adjust("1 second")
      yield* publish(endedOf(1, "https://three.example/"))
      yield* TestClock.adjust("1 second")
      const types = yield* typesAt("watch")
      assert.deepStrictEqual(types.flat(), Array.from({ length: 3 }, () => "subscription.ended"))
      assert.deepStrictEqual(
        web.parcels.map(({ headers }) => headers.find(([name]) => name === "X-Windhover-Sequence")?.[1]),
        types.map((_, i) => String(i + 1))
      )
      assert.deepStrictEqual(lines(web, "poll"), [])
      assert.deepStrictEqual(yield* titles(caller), [
        sentence("https://three.example/"),
        sentence("https://two.example/"),
        sentence("https://one.example/"),
        sentence("https://before.example/")
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("has the events of the own account only, and for an operator those of all accounts", () =>
    Effect.gen(function*() {
      yield* started
      const bob = yield* newCaller("bob", false)
      const operator = yield* newCaller("op", true)
      for (const who of [caller, bob, operator]) {
        yield* subscribe(who.account.login, { topic: events, format: "json", caller: who })
      }
      yield* TestClock.adjust("1 second")
      yield* publish(endedOf(bob.account.id, "https://bob.example/"))
      yield* publish(hubLost("https://publisher-hub.example/"))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual((yield* typesAt("ann")).flat(), [])
      assert.deepStrictEqual((yield* typesAt("bob")).flat(), ["subscription.ended"])
      assert.sameMembers((yield* typesAt("op")).flat(), ["subscription.ended", "hub.lost"])
      assert.deepStrictEqual(yield* titles(caller), [])
      assert.deepStrictEqual(yield* titles(bob), [sentence("https://bob.example/")])
      assert.strictEqual((yield* titles(operator)).length, 2)

      yield* (yield* AccountStore).update("op", { admin: false })
      yield* publish(endedOf(bob.account.id, "https://later.example/"))
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual((yield* typesAt("op")).flat().length, 2)
      assert.strictEqual((yield* typesAt("bob")).flat().length, 2)
    }).pipe(Effect.provide(layer)))

  it.effect("needs a token with the right admin where the account is an operator's", () =>
    Effect.gen(function*() {
      yield* started
      const operator = yield* newCaller("op", true)
      const limited = { ...operator, rights: new Set(rights) }
      const hub = yield* Hub
      yield* subscribe("op", { topic: events, caller: operator })
      yield* TestClock.adjust("1 second")
      yield* publish(hubLost("https://publisher-hub.example/"))
      yield* TestClock.adjust("1 second")
      const refusals = [
        subscribe("limited", { topic: events, caller: limited }),
        hub.retrieve({ caller: limited, topic: events, count: 1 }),
        hub.follow({ caller: limited, topic: events, count: 1 }),
        hub.replay({ caller: limited, topic: events, callback: hook("op"), count: 1, async: true }),
        hub.unsubscribe({ caller: limited, topic: events, callback: hook("op"), face: "api" })
      ]
      for (const refused of refusals) {
        const { message, reason } = yield* Effect.flip(Effect.asVoid(refused))
        assert.strictEqual(reason._tag, "Forbidden")
        assert.include(message, "this token does not have the right \"admin\"")
      }
      const { items: [item = assert.fail()] } = yield* hub.list({ caller: operator, page: 1, byPage: 20 })
      const byId = { caller: limited, subscription: item.subscription.id }
      const recovery = yield* Recovery
      const refusalsById = [
        Effect.asVoid(recovery.readNotifications({ ...byId, after: 0, limit: 1 })),
        Effect.asVoid(recovery.resend({ ...byId, sequences: [1] })),
        Effect.asVoid(recovery.sendTest(byId)),
        Effect.asVoid(recovery.sendTest({ caller: limited, callback: hook("op"), topic: events })),
        Effect.asVoid((yield* Secrets).rotate({ ...byId, secret: "new", graceSeconds: 0 }))
      ]
      for (const refused of refusalsById) {
        const { reason } = yield* Effect.flip(refused)
        assert.strictEqual(reason._tag, "Forbidden")
      }
      const reports = yield* DeliveryReports
      const { items: [attempt = assert.fail()] } = yield* reports.list({ caller: limited, limit: 1 })
      assert.isUndefined((yield* reports.show({ caller: limited, id: attempt.id })).request)
      assert.isDefined((yield* reports.show({ caller: operator, id: attempt.id })).request)
      const byCallback = { count: 10, callback: hook("op") }
      const none = yield* Effect.flip(hub.retrieve({ caller: limited, ...byCallback }))
      assert.strictEqual(none.reason._tag, "NotSubscribed")
      assert.strictEqual((yield* hub.follow({ caller: operator, ...byCallback })).topics.size, 1)
      assert.strictEqual((yield* hub.retrieve({ caller: operator, ...byCallback })).entries.length, 1)
    }).pipe(Effect.provide(layer)))

  it.effect("has tests, a filter of the delivery log and secrets like every topic", () =>
    Effect.gen(function*() {
      const web = yield* started
      yield* subscribe("watch", { topic: events, format: "json", secret: "old" })
      yield* TestClock.adjust("1 second")
      yield* publish(endedOf(1, "https://one.example/"))
      yield* TestClock.adjust("1 second")
      const { items: [attempt = assert.fail()] } = yield* DeliveryReports.use((reports) =>
        reports.list({ caller, topic: events, limit: 1 })
      )
      const subscription = attempt.outcome === "denied" ? assert.fail() : attempt.subscriptionId
      yield* Secrets.use((secrets) => secrets.rotate({ caller, subscription, secret: "new", graceSeconds: 0 }))
      const { topic } = yield* Recovery.use((recovery) => recovery.sendTest({ caller, subscription }))
      assert.strictEqual(topic, events)
      yield* publish(endedOf(1, "https://two.example/"))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* typesAt("watch"), Array.from({ length: 3 }, () => ["subscription.ended"]))
      assert.deepStrictEqual(web.parcels.map(({ secret }) => secret), ["old", "new", "new"])
    }).pipe(Effect.provide(layer)))

  it.effect("is one topic in all spellings, found by its URL in lists, and ended by each spelling", () =>
    Effect.gen(function*() {
      yield* started
      yield* subscribe("watch", { topic: "HTTP://Hub.Example:80/events/" })
      yield* TestClock.adjust("1 second")
      const hub = yield* Hub
      const list = { caller, page: 1, byPage: 20 }
      const { items } = yield* hub.list({ ...list, search: { ...matchAll, feedUrl: events } })
      assert.deepStrictEqual(items.map(({ subscription }) => subscription.topic), ["HTTP://Hub.Example:80/events/"])
      assert.deepStrictEqual(yield* titles(caller), [])
      const query = yield* Effect.flip(subscribe("watch", { topic: `${events}?all` }))
      assert.strictEqual(
        query.message,
        "The topic of events has neither a query nor a fragment: received \"http://hub.example/events?all\"."
      )
      assert.strictEqual(yield* unsubscribe("watch", events), "done")
      assert.deepStrictEqual((yield* hub.list(list)).items, [])
    }).pipe(Effect.provide(layer)))

  it.effect("is refused on the open hub, and a ping causes nothing", () =>
    Effect.gen(function*() {
      const web = yield* started
      const refused = yield* Effect.flip(subscribe("stranger", { topic: `${events}/`, face: "hub" }))
      assert.strictEqual(
        refused.message,
        "\"http://hub.example/events/\" has the events of an account: subscribe with your login and token, through the API."
      )
      yield* subscribe("watch", { topic: events })
      yield* TestClock.adjust("1 second")
      yield* (yield* Hub).publish([events])
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual([...web.log], [])
    }).pipe(Effect.provide(layer)))

  it.effect("tells of resources that fail, recover and are gone", () =>
    Effect.gen(function*() {
      const web = yield* started
      yield* subscribe("watch", { topic: events, format: "json" })
      web.publish(feed, ["first"])
      yield* subscribe("reader")
      yield* TestClock.adjust("2 seconds")
      web.serve(feed, () => Effect.succeed(statusOnly(500)))
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual((yield* typesAt("watch")).flat(), ["resource.failing"])
      web.serve(feed, () => Effect.succeed(documentOf(["first"])))
      yield* TestClock.adjust("2 hours")
      assert.deepStrictEqual((yield* typesAt("watch")).flat(), ["resource.failing", "resource.recovered"])
      web.serve(feed, () => Effect.succeed(statusOnly(410)))
      yield* TestClock.adjust("2 hours")
      assert.deepStrictEqual((yield* typesAt("watch")).flat().slice(2), ["resource.gone"])
    }).pipe(Effect.provide(layer)))

  it.effect("waits for a failing callback like every topic, and misses nothing of a time without subscribers", () =>
    Effect.gen(function*() {
      const web = yield* started
      yield* subscribe("watch", { topic: events, format: "json" })
      yield* TestClock.adjust("1 second")
      web.answer(hook("watch"), (_, attempt) => Effect.succeed(attempt === 0 ? 503 : 200))
      yield* publish(endedOf(1, "https://one.example/"))
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* typesAt("watch"), [["subscription.ended"], ["subscription.ended"]])
      yield* unsubscribe("watch", events)
      yield* publish(endedOf(1, "https://two.example/"))
      yield* TestClock.adjust("1 minute")
      web.parcels.length = 0
      yield* subscribe("again", { topic: events, format: "json" })
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* typesAt("again"), [])
      assert.deepStrictEqual(yield* titles(caller), [
        sentence("https://two.example/"),
        sentence("https://one.example/")
      ])
      assert.isTrue(Option.isSome(yield* (yield* AccountStore).load(1)))
    }).pipe(Effect.provide(layer)))

  it.effect("misses no event that comes at once after the return of a subscriber", () =>
    Effect.gen(function*() {
      yield* started
      yield* subscribe("watch", { topic: events, format: "json" })
      yield* TestClock.adjust("1 second")
      yield* unsubscribe("watch", events)
      yield* publish(endedOf(1, "https://away.example/"))
      yield* TestClock.adjust("1 minute")
      yield* subscribe("again", { topic: events, format: "json" })
      yield* TestClock.adjust("1 second")
      yield* publish(endedOf(1, "https://back.example/"))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* typesAt("again"), [["subscription.ended"]])
    }).pipe(Effect.provide(layer)))

  it.effect("tells the account and the operator that a lease has ended", () =>
    Effect.gen(function*() {
      const web = yield* started
      web.publish(feed, ["first"])
      const operator = yield* newCaller("op", true)
      for (const who of [caller, operator]) {
        yield* subscribe(who.account.login, { topic: events, format: "json", caller: who })
      }
      yield* subscribe("tail", { callback: "http://hub.example/dev/null?lease=60" })
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual((yield* typesAt("ann")).flat(), [])
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual((yield* typesAt("ann")).flat(), ["subscription.ended"])
      for (const who of [caller, operator]) {
        assert.deepStrictEqual(yield* titles(who), [sentence("http://hub.example/dev/null?lease=60")])
      }
      const { entries: [entry] } = yield* Hub.use((hub) => hub.retrieve({ caller, topic: events, count: 1 }))
      assert.deepInclude(entry?.event?.data, {
        reason: "lease",
        message: "The lease has expired, and the subscriber has not renewed it."
      })
    }).pipe(Effect.provide(layer)))

  it.effect("tells an operator that the disk is below its reserve, and that the database does not write", () => {
    let hasRoom = true
    const writeFailure: typeof WriteFailure["Service"] = { reason: undefined }
    let write: Effect.Effect<void, StoreError> = Effect.void
    const full = layerWith(
      { baseUrl: "http://hub.example" },
      Layer.mergeAll(
        Layer.succeed(DiskRoom, { forStrangers: () => hasRoom }),
        Layer.succeed(WriteFailure, writeFailure),
        Layer.succeed(WriteProbe, { attempt: Effect.suspend(() => write) })
      )
    )
    return Effect.gen(function*() {
      yield* started
      const operator = yield* newCaller("op", true)
      for (const who of [caller, operator]) {
        yield* subscribe(who.account.login, { topic: events, format: "json", caller: who })
      }
      yield* TestClock.adjust("10 seconds")
      hasRoom = false
      yield* TestClock.adjust("1 minute")
      writeFailure.reason = "full" // a query may have been too large: the probe writes
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* typesAt("op"), [["database.full"]])
      write = new StoreError({ reason: { _tag: "Unavailable", message: "No space left on device." } })
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* typesAt("op"), [["database.full"], ["database.full"]])
      assert.deepStrictEqual(yield* typesAt("ann"), [])
      const { entries } = yield* Hub.use((hub) => hub.retrieve({ caller: operator, topic: events, count: 9 }))
      assert.deepStrictEqual(entries.map(({ event }) => event?.data["reason"]), ["full", "reserve"])
    }).pipe(Effect.provide(full))
  })

  it.effect("tells an operator that a publisher's hub has missed pushes", () =>
    Effect.gen(function*() {
      const web = yield* started
      const lost = "http://lost-hub.example/"
      const pages = Array.from({ length: 3 }, (_, i) => `http://site${i}.example/feed`)
      const serve = (topic: string, ids: ReadonlyArray<string>) =>
        web.serve(topic, () =>
          Effect.succeed({ ...documentOf(ids), headers: { link: `<${lost}>; rel=hub, <${topic}>; rel=self` } }))
      const operator = yield* newCaller("op", true)
      yield* subscribe("op", { topic: events, format: "json", caller: operator })
      const hub = yield* Hub
      for (const [i, topic] of pages.entries()) {
        serve(topic, ["a"])
        yield* subscribe("good", { topic })
        yield* TestClock.adjust("2 seconds")
        const callback = `callback-${i + 1}`
        yield* hub.confirmIntent(callback, { mode: "subscribe", topic, leaseSeconds: 864_000 })
        yield* TestClock.adjust("1 second")
        const receiver = (yield* hub.findReceiver(callback)) ?? assert.fail()
        yield* hub.acceptPush(receiver, { contentType: "application/json", body: documentOf(["b", "a"]).body })
      }
      yield* TestClock.adjust("1 minute")
      for (const topic of pages) {
        serve(topic, ["c", "b", "a"]) // the hub says nothing
      }
      yield* TestClock.adjust("40 minutes")
      assert.deepStrictEqual((yield* typesAt("op")).flat(), ["hub.lost"])
      const { entries: [entry] } = yield* hub.retrieve({ caller: operator, topic: events, count: 1 })
      assert.strictEqual(entry?.event?.data["hub"], lost)
    }).pipe(Effect.provide(
      layerWith({ upstreamHubs: true, baseUrl: "http://hub.example", minPeriodSeconds: 15, maxPeriodSeconds: 60 })
    )))
})
