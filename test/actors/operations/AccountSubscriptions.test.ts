import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Hub } from "#actors/operations/Hub.ts"
import { Import } from "#actors/operations/Import.ts"
import type { Caller } from "#domain/Account.ts"
import { feed, hook, started, subscribe, unsubscribe } from "#test/support/HubCalls.ts"
import { caller as unlimited, layer } from "#test/support/SimulatedWeb.ts"

const limitedTo = (maxSubscriptions: number): Caller => ({
  ...unlimited,
  account: { ...unlimited.account, maxSubscriptions }
})

const sentence =
  "Your account can have at most 2 subscriptions. Unsubscribe some, or ask the operator of this service for a " +
  "higher limit."

const topics = Effect.gen(function*() {
  const { items } = yield* (yield* Hub).list({ caller: unlimited, page: 1, byPage: 100 })
  return items.map(({ subscription }) => subscription.topic)
})

const other = (name: string) => `http://feeds.example/${name}`

describe("the maximum of subscriptions of an account", () => {
  it.effect("refuses a further subscription, not a change, and ends with an unsubscription", () =>
    Effect.gen(function*() {
      yield* started
      const caller = limitedTo(2)
      yield* subscribe("one", { caller })
      yield* subscribe("two", { caller })
      for (const verify of [undefined, "sync", "async"] as const) {
        const { message, reason } = yield* Effect.flip(
          subscribe("three", { caller, ...(verify !== undefined && { verify }) })
        )
        assert.deepStrictEqual([reason._tag, message], ["BadParameter", sentence], verify)
      }
      yield* subscribe("two", { caller, format: "json" })
      assert.deepStrictEqual(yield* topics, [feed, feed])
      yield* unsubscribe("one")
      yield* subscribe("three", { caller })
      yield* subscribe("four", { caller: limitedTo(3) })
      yield* subscribe("five")
      assert.strictEqual((yield* topics).length, 4)
      const { message } = yield* Effect.flip(subscribe("six", { caller: limitedTo(0), topic: other("b") }))
      assert.include(message, "at most 0 subscriptions")
    }).pipe(Effect.provide(layer)))

  it.effect("refuses all resources of an XMPP request together, with the condition for its nodes", () =>
    Effect.gen(function*() {
      yield* started
      const hub = yield* Hub
      const jid = { bare: "ann@example", domain: "example" }
      const subscribeJid = (...names: ReadonlyArray<string>) =>
        hub.subscribeJid({ caller: limitedTo(2), jid, resources: names.map((name) => ({ topic: other(name) })) })
      yield* subscribeJid("a")
      const { message, reason } = yield* Effect.flip(subscribeJid("a", "b", "c"))
      assert.deepStrictEqual([message, reason._tag === "BadParameter" && reason.parameter], [sentence, "hub.topic"])
      assert.deepStrictEqual(yield* topics, [other("a")])
      yield* subscribeJid("a", "b")
      assert.strictEqual((yield* topics).length, 2)
    }).pipe(Effect.provide(layer)))

  it.effect("imports the first lines for which there is room, and refuses the others with the reason", () =>
    Effect.gen(function*() {
      yield* started
      yield* subscribe("all", { topic: other("old") })
      const list = ["old", "a", "a", "b", "b", "c"].map(other).join("\n")
      const events = yield* Effect.gen(function*() {
        const { start } = yield* Import
        const source = Stream.succeed(new TextEncoder().encode(list))
        const defaults = { callback: hook("all"), labels: [] }
        return yield* Stream.runCollect(yield* start({ caller: limitedTo(2), defaults, source }))
      }).pipe(Effect.scoped)
      assert.deepStrictEqual(
        events.flatMap((event) => event._tag === "Line" ? [[event.result, event.reason]] : []),
        [
          ["exists", undefined],
          ["subscribed", undefined],
          ["exists", undefined],
          ["refused", sentence],
          ["refused", sentence],
          ["refused", sentence]
        ]
      )
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* topics, [other("old"), other("a")])
    }).pipe(Effect.provide(layer)))
})
