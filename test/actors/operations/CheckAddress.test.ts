import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { TestClock } from "effect/testing"
import { Hub } from "#actors/operations/Hub.ts"
import { anonymous } from "#domain/Account.ts"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import { feed, hook, lines, started, subscribe } from "#test/support/HubCalls.ts"
import { caller, layer } from "#test/support/SimulatedWeb.ts"

const secretFeed = "http://feeds.internal/a"
const secretHook = "http://hooks.internal/1"
const refusal = (parameter: string, url: string) =>
  `${parameter} can never be reached: received ${JSON.stringify(url)}. It is internal.`

describe("CheckAddress", () => {
  it.effect("refuses topics and callbacks of the API that are never connected to", () =>
    Effect.gen(function*() {
      yield* started
      const { message: topic } = yield* Effect.flip(subscribe("1", { topic: secretFeed }))
      assert.strictEqual(topic, refusal("hub.topic", secretFeed))
      const { message: callback } = yield* Effect.flip(subscribe("1", { callback: secretHook }))
      assert.strictEqual(callback, refusal("hub.callback", secretHook))
      assert.isTrue(Option.isNone(yield* ResourceStore.use((resources) => resources.find(secretFeed))))
    }).pipe(Effect.provide(layer)))

  it.effect("refuses them on the open hub, where no callback is asked", () =>
    Effect.gen(function*() {
      const web = yield* started
      const open = { caller: anonymous, face: "hub" } as const
      const { message: topic } = yield* Effect.flip(subscribe("1", { ...open, topic: secretFeed }))
      assert.strictEqual(topic, refusal("hub.topic", secretFeed))
      const { message: callback } = yield* Effect.flip(subscribe("1", { ...open, callback: secretHook }))
      assert.strictEqual(callback, refusal("hub.callback", secretHook))
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(lines(web, "internal"), [])
    }).pipe(Effect.provide(layer)))

  it.effect("refuses nodes of XMPP", () =>
    Effect.gen(function*() {
      yield* started
      const hub = yield* Hub
      const jid = { bare: "ann@example", domain: "example" }
      const { message } = yield* Effect.flip(hub.subscribeJid({ caller, jid, resources: [{ topic: secretFeed }] }))
      assert.strictEqual(message, refusal("node", secretFeed))
    }).pipe(Effect.provide(layer)))

  it.effect("ends a subscription to an address that was allowed before", () =>
    Effect.gen(function*() {
      yield* started
      const hub = yield* Hub
      const { message } = yield* Effect.flip(
        hub.unsubscribe({ caller, topic: secretFeed, callback: hook("1"), face: "api" })
      )
      assert.include(message, "there is nothing to unsubscribe")
      assert.deepStrictEqual(yield* subscribe("1", { topic: feed }), { outcome: "done" })
    }).pipe(Effect.provide(layer)))
})
