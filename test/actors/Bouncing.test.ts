import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Hub } from "#actors/Hub.ts"
import { Senders } from "#actors/Senders.ts"
import type { Severity } from "#domain/Bounce.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { DeliveryLog } from "#domain/ports/DeliveryLog.ts"
import * as Settings from "#layers/Settings.ts"
import { feed, started } from "#test/support/Core.ts"
import { caller, layerOutside, layerSending } from "#test/support/World.ts"

const jid = { bare: "ann@xmpp.test", domain: "xmpp.test" }

/** One XMPP subscription to a feed that is polled each minute; `sent` are the sequences that went out. */
const watching = () => {
  const sent: Array<number> = []
  const senders = Layer.succeed(Senders, {
    xmpp: ({ sequence }) => Effect.sync(() => (sent.push(sequence), { verdict: "delivered" as const }))
  })
  const layer = layerSending(senders).pipe(
    Layer.provideMerge(layerOutside),
    Layer.provideMerge(Settings.layerTest({ maxPeriod: 60 }))
  )
  const world = Effect.gen(function*() {
    const { publish } = yield* started
    const hub = yield* Hub
    const ids = ["first"]
    publish(feed, ids)
    const subscribe = hub.subscribeJid({ caller, jid, resources: [{ topic: feed }] })
    yield* subscribe
    yield* TestClock.adjust("1 second")
    /** An entry more, and the time until it is told. */
    const tell = Effect.suspend(() => {
      ids.unshift(`entry ${ids.length}`)
      publish(feed, [...ids])
      return Effect.andThen(hub.publish([feed]), TestClock.adjust("20 minutes"))
    })
    const listed = Effect.map(hub.list({ caller, page: 1, byPage: 20, counted: true }), ({ items }) => items)
    const state = Effect.map(listed, (items) => items.map(({ subscription }) => subscription.state))
    const bounce = Effect.fnUntraced(function*(severity: Severity) {
      const [item = assert.fail()] = yield* listed
      const sequence = sent.at(-1) ?? 0
      yield* hub.bounced({ subscriptionId: item.subscription.id, sequence, severity, message: "It came back." })
    })
    return { hub, tell, bounce, state, listed, subscribe }
  })
  /** Told and bounced so often that it is paused. */
  const paused = Effect.gen(function*() {
    const one = yield* world
    for (let i = 0; i < 5; i++) yield* Effect.andThen(one.tell, one.bounce("lasting"))
    return one
  })
  return { sent, world, paused, layer }
}

describe("Bouncing", () => {
  it.effect("ends the subscription of a receiver that is gone", () => {
    const { layer, sent, world } = watching()
    return Effect.gen(function*() {
      const { bounce, state, tell } = yield* world
      yield* tell
      yield* bounce("gone")
      assert.deepStrictEqual(yield* state, [])
      const [last] = yield* (yield* DeliveryLog).list({ limit: 10 })
      assert.deepStrictEqual([last?.fate, last?.endpoint, last?.message], ["ended", jid.bare, "It came back."])
      yield* tell
      assert.deepStrictEqual(sent, [1])
    }).pipe(Effect.provide(layer))
  })

  it.effect("marks a subscription, and gives nothing back", () => {
    const { layer, sent, world } = watching()
    return Effect.gen(function*() {
      const { bounce, listed, tell } = yield* world
      yield* tell
      const credits = Effect.map((yield* AccountStore).list, ([ann]) => ann?.credits)
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

  it.effect("sends nothing to one that is paused, and takes no credit, until its JID is heard of", () => {
    const { layer, paused, sent } = watching()
    return Effect.gen(function*() {
      const { hub, listed, state, tell } = yield* paused
      assert.deepStrictEqual([yield* state, sent], [["paused"], [1, 2, 3, 4, 5]])
      const accounts = yield* AccountStore
      const credits = Effect.map(accounts.list, ([ann]) => ann?.credits)
      const before = yield* credits
      yield* tell
      assert.deepStrictEqual([sent.length, yield* credits], [5, before])
      assert.isTrue(yield* hub.heardOf("bob@xmpp.test"))
      assert.deepStrictEqual(yield* state, ["paused"])
      yield* hub.heardOf(jid.bare)
      assert.deepStrictEqual([yield* state, (yield* listed)[0]?.bounces], [["active"], undefined])
      yield* TestClock.adjust("1 minute")
      yield* tell
      assert.isAbove(sent.length, 5)
    }).pipe(Effect.provide(layer))
  })

  it.effect("goes on when it is subscribed again", () => {
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

  it.effect("goes on when its domain is heard of, which has the account", () => {
    const { layer, paused } = watching()
    return Effect.gen(function*() {
      const { hub, listed, state } = yield* paused
      const [item = assert.fail()] = yield* listed
      assert.isTrue(yield* hub.heardOfDomain(item.subscription.accountId + 1, jid.domain))
      assert.deepStrictEqual(yield* state, ["paused"])
      assert.isTrue(yield* hub.heardOfDomain(item.subscription.accountId, jid.domain))
      assert.deepStrictEqual(yield* state, ["active"])
    }).pipe(Effect.provide(layer))
  })

  it.effect("of a subscription that is gone mean nothing", () => {
    const { layer, world } = watching()
    return Effect.gen(function*() {
      const { hub, listed } = yield* world
      yield* hub.bounced({ subscriptionId: 1_000_000, sequence: 1, severity: "gone", message: "It came back." })
      assert.deepStrictEqual((yield* listed).map(({ bounces }) => bounces), [undefined])
    }).pipe(Effect.provide(layer))
  })
})
