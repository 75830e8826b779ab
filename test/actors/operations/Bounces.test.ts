import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Hub } from "#actors/operations/Hub.ts"
import { Senders } from "#actors/subscription/Senders.ts"
import type { Severity } from "#domain/delivery/Bounce.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { BounceStore } from "#domain/ports/BounceStore.ts"
import { DeliveryLog } from "#domain/ports/DeliveryLog.ts"
import { SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import * as Settings from "#layers/Settings.ts"
import { feed, started } from "#test/support/HubCalls.ts"
import { caller, layerOutside, layerSending } from "#test/support/SimulatedWeb.ts"

const jid = { bare: "ann@xmpp.test", domain: "xmpp.test" }

/** One XMPP subscription to a feed that is polled each minute; `sent` are the sequences that went out. */
const watching = () => {
  const sent: Array<number> = []
  const senders = Layer.succeed(Senders, {
    xmpp: ({ sequence }) => Effect.sync(() => (sent.push(sequence), { verdict: "delivered" as const }))
  })
  const layer = layerSending(senders).pipe(
    Layer.provideMerge(layerOutside),
    Layer.provideMerge(Settings.layerValues({ maxPeriodSeconds: 60 }))
  )
  const web = Effect.gen(function*() {
    const { publish } = yield* started
    const hub = yield* Hub
    const ids = ["first"]
    publish(feed, ids)
    const subscribe = hub.subscribeJid({ caller, jid, resources: [{ topic: feed }] })
    yield* subscribe
    yield* TestClock.adjust("1 second")
    /** Publishes an entry, and waits for its notification. */
    const tellWithin = (time: "5 seconds" | "20 minutes") =>
      Effect.suspend(() => {
        ids.unshift(`entry ${ids.length}`)
        publish(feed, [...ids])
        return Effect.andThen(hub.publish([feed]), TestClock.adjust(time))
      })
    const tell = tellWithin("20 minutes")
    const listed = Effect.map(hub.list({ caller, page: 1, byPage: 20, counted: true }), ({ items }) => items)
    const state = Effect.map(listed, (items) => items.map(({ subscription }) => subscription.state))
    const bounce = Effect.fnUntraced(function*(severity: Severity, from = jid.bare) {
      const [item = assert.fail()] = yield* listed
      const sequence = sent.at(-1) ?? 0
      yield* hub.recordBounce({
        subscriptionId: item.subscription.id,
        sequence,
        from,
        severity,
        message: "It came back."
      })
    })
    return { hub, tell, tellSoon: tellWithin("5 seconds"), bounce, state, listed, subscribe }
  })
  /** Told and bounced so often that it is paused. */
  const paused = Effect.gen(function*() {
    const one = yield* web
    for (let i = 0; i < 5; i++) yield* Effect.andThen(one.tell, one.bounce("lasting"))
    return one
  })
  return { sent, web, paused, layer }
}

describe("Bouncing", () => {
  it.effect("ends the subscription of a receiver that is gone", () => {
    const { layer, sent, web } = watching()
    return Effect.gen(function*() {
      const { bounce, state, tell } = yield* web
      yield* tell
      yield* bounce("gone")
      assert.deepStrictEqual(yield* state, [])
      const { items: [last] } = yield* (yield* DeliveryLog).list({ limit: 10 })
      assert.deepStrictEqual(
        [last?.outcome, last?.reason, last?.endpoint, last?.message],
        ["ended", "bounced", jid.bare, "It came back."]
      )
      yield* tell
      assert.deepStrictEqual(sent, [1])
    }).pipe(Effect.provide(layer))
  })

  it.effect("marks a subscription, and returns no credit", () => {
    const { layer, sent, web } = watching()
    return Effect.gen(function*() {
      const { bounce, listed, tell } = yield* web
      yield* tell
      const credits = Effect.map((yield* AccountStore).list({ limit: 1 }), ({ items: [ann] }) => ann?.credits)
      const before = yield* credits
      yield* bounce("lasting")
      const [item] = yield* listed
      assert.deepStrictEqual(
        [item?.subscription.state, item?.bounces?.count, item?.bounces?.message],
        ["active", 1, "It came back."]
      )
      yield* TestClock.adjust("20 minutes")
      assert.deepStrictEqual([sent, yield* credits], [[1], before])
      yield* tell
      assert.deepStrictEqual(sent, [1, 2])
    }).pipe(Effect.provide(layer))
  })

  it.effect("sends nothing to a paused subscription, and takes no credit, until its JID is online", () => {
    const { layer, paused, sent } = watching()
    return Effect.gen(function*() {
      const { hub, listed, state, tell } = yield* paused
      assert.deepStrictEqual([yield* state, sent], [["paused"], [1, 2, 3, 4, 5]])
      const accounts = yield* AccountStore
      const credits = Effect.map(accounts.list({ limit: 1 }), ({ items: [ann] }) => ann?.credits)
      const before = yield* credits
      yield* tell
      assert.deepStrictEqual([sent.length, yield* credits], [5, before])
      assert.isTrue(yield* hub.resumeJid("bob@xmpp.test"))
      assert.deepStrictEqual(yield* state, ["paused"])
      yield* hub.resumeJid(jid.bare)
      assert.deepStrictEqual([yield* state, (yield* listed)[0]?.bounces], [["active"], undefined])
      yield* TestClock.adjust("1 minute")
      yield* tell
      assert.isAbove(sent.length, 5)
    }).pipe(Effect.provide(layer))
  })

  it.effect("resumes at a repeated subscribe", () => {
    const { layer, paused, sent } = watching()
    return Effect.gen(function*() {
      const { state, subscribe, tell } = yield* paused
      yield* subscribe
      assert.deepStrictEqual(yield* state, ["active"])
      yield* TestClock.adjust("1 minute")
      yield* tell
      assert.isAbove(sent.length, 5)
    }).pipe(Effect.provide(layer))
  })

  it.effect("resumes when the domain of the account is active", () => {
    const { layer, paused } = watching()
    return Effect.gen(function*() {
      const { hub, listed, state } = yield* paused
      const [item = assert.fail()] = yield* listed
      assert.isTrue(yield* hub.resumeDomain(item.subscription.accountId + 1, jid.domain))
      assert.deepStrictEqual(yield* state, ["paused"])
      assert.isTrue(yield* hub.resumeDomain(item.subscription.accountId, jid.domain))
      assert.deepStrictEqual(yield* state, ["active"])
    }).pipe(Effect.provide(layer))
  })

  it.effect("sends a trial after an hour, and doubles the wait after a bounced trial", () => {
    const { layer, paused, sent } = watching()
    return Effect.gen(function*() {
      const { bounce, listed, state, tellSoon } = yield* paused
      yield* TestClock.adjust("59 minutes")
      yield* tellSoon
      assert.deepStrictEqual([yield* state, sent.length], [["paused"], 5])
      yield* TestClock.adjust("3 minutes")
      assert.deepStrictEqual([yield* state, sent.length], [["active"], 6])
      yield* tellSoon
      yield* tellSoon
      assert.strictEqual(sent.length, 6) // the others wait until it is known what became of the first one
      yield* bounce("lasting")
      assert.deepStrictEqual(yield* state, ["paused"])

      yield* TestClock.adjust("119 minutes")
      assert.deepStrictEqual([yield* state, sent.length], [["paused"], 6])
      yield* TestClock.adjust("2 minutes")
      assert.deepStrictEqual([yield* state, sent.length], [["active"], 7])
      assert.deepStrictEqual((yield* listed)[0]?.bounces?.trials, 2)
    }).pipe(Effect.provide(layer))
  })

  it.effect("resumes when its trial does not bounce", () => {
    const { layer, paused, sent } = watching()
    return Effect.gen(function*() {
      const { bounce, listed, state, tellSoon } = yield* paused
      yield* TestClock.adjust("62 minutes")
      yield* tellSoon
      yield* tellSoon
      yield* tellSoon
      assert.strictEqual(sent.length, 6)
      yield* TestClock.adjust("3 minutes")
      assert.deepStrictEqual([yield* state, (yield* listed)[0]?.bounces, sent.length], [["active"], undefined, 8])
      yield* tellSoon
      assert.strictEqual(sent.length, 9)
      yield* bounce("lasting")
      assert.deepStrictEqual([yield* state, (yield* listed)[0]?.bounces?.count], [["active"], 1])
    }).pipe(Effect.provide(layer))
  })

  it.effect("sends one trial, also when the subscription is reloaded during the trial", () => {
    const { layer, paused, sent } = watching()
    return Effect.gen(function*() {
      const { hub, tellSoon } = yield* paused
      yield* TestClock.adjust("62 minutes")
      yield* tellSoon
      yield* tellSoon
      yield* hub.replay({ caller, topic: feed, callback: jid.bare, count: 1, async: true })
      yield* tellSoon
      assert.strictEqual(sent.length, 6)
      yield* TestClock.adjust("3 minutes")
      assert.strictEqual(sent.length, 9)
    }).pipe(Effect.provide(layer))
  })

  it.effect("resumes at once when its JID is online during the trial", () => {
    const { layer, paused, sent } = watching()
    return Effect.gen(function*() {
      const { hub, listed, tellSoon } = yield* paused
      yield* TestClock.adjust("62 minutes")
      yield* tellSoon
      yield* tellSoon
      assert.strictEqual(sent.length, 6)
      yield* hub.resumeJid(jid.bare)
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual([(yield* listed)[0]?.bounces, sent.length], [undefined, 7])
      yield* tellSoon
      assert.strictEqual(sent.length, 8)
    }).pipe(Effect.provide(layer))
  })

  it.effect("resumes all paused subscriptions of a JID, however many", () => {
    const { layer, web } = watching()
    return Effect.gen(function*() {
      const { hub } = yield* web
      const store = yield* SubscriptionStore
      const { pause } = yield* BounceStore
      for (let i = 0; i < 250; i++) {
        const topic = {
          given: `http://feeds.example/${i}`,
          canonical: `http://feeds.example/${i}`,
          host: "feeds.example"
        }
        const { subscription } = yield* store.subscribe({
          accountId: caller.account.id,
          topic,
          partition: 1,
          channel: "xmpp",
          endpoint: "bob@xmpp.test",
          host: jid.domain,
          face: "api",
          state: "active"
        })
        yield* pause(subscription.id, Infinity)
      }
      assert.isTrue(yield* hub.resumeJid("bob@xmpp.test"))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* (yield* BounceStore).resume("bob@xmpp.test", 1), [])
    }).pipe(Effect.provide(layer))
  })

  it.effect("ignores bounces from another address", () => {
    const { layer, web } = watching()
    return Effect.gen(function*() {
      const { bounce, listed, state, tell } = yield* web
      yield* tell
      yield* bounce("gone", "mallory@xmpp.test")
      assert.deepStrictEqual([yield* state, (yield* listed)[0]?.bounces], [["active"], undefined])
    }).pipe(Effect.provide(layer))
  })

  it.effect("ignores bounces of an ended subscription", () => {
    const { layer, web } = watching()
    return Effect.gen(function*() {
      const { hub, listed } = yield* web
      yield* hub.recordBounce({
        subscriptionId: 1_000_000,
        sequence: 1,
        from: jid.bare,
        severity: "gone",
        message: "It came back."
      })
      assert.deepStrictEqual((yield* listed).map(({ bounces }) => bounces), [undefined])
    }).pipe(Effect.provide(layer))
  })
})
