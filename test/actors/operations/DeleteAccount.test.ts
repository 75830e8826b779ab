import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { deleteAccount } from "#actors/operations/DeleteAccount.ts"
import { Hub } from "#actors/operations/Hub.ts"
import type { Caller } from "#domain/Account.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { feed, hook, started, subscribe } from "#test/support/HubCalls.ts"
import { caller as ann, layer } from "#test/support/SimulatedWeb.ts"

const bobWith = Effect.fnUntraced(function*(subscriptions: number) {
  const accounts = yield* AccountStore
  const account = yield* accounts.create("bob", Redacted.make("a password"))
  const caller: Caller = { ...ann, account }
  for (let i = 0; i < subscriptions; i++) yield* subscribe(`bob${i}`, { caller })
  return caller
})

describe("deleteAccount", () => {
  it.effect("ends the subscriptions, so that no delivery follows, and deletes the account", () =>
    Effect.gen(function*() {
      const web = yield* started
      web.publish(feed, ["first"])
      const bob = yield* bobWith(3)
      yield* subscribe("ann")
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* deleteAccount("bob"), "deleted")
      const accounts = yield* AccountStore
      assert.deepStrictEqual(yield* accounts.find("bob"), Option.none())
      const hub = yield* Hub
      assert.deepStrictEqual((yield* hub.list({ caller: bob, page: 1, byPage: 10 })).items, [])
      assert.strictEqual((yield* hub.list({ caller: ann, page: 1, byPage: 10 })).items.length, 1)
      web.publish(feed, ["second", "first"])
      yield* hub.publish([feed])
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual([...new Set(web.parcels.map(({ callback }) => callback))], [hook("ann")])
      assert.strictEqual(yield* deleteAccount("bob"), "unknown")
    }).pipe(Effect.provide(layer)))

  it.effect("ends 200 subscriptions at a time, and disables the account meanwhile", () =>
    Effect.gen(function*() {
      yield* started
      yield* bobWith(201)
      const accounts = yield* AccountStore
      assert.strictEqual(yield* deleteAccount("bob"), "more")
      assert.deepStrictEqual(Option.map(yield* accounts.find("bob"), ({ disabled }) => disabled), Option.some(true))
      assert.strictEqual(yield* deleteAccount("bob"), "deleted")
      assert.deepStrictEqual(yield* accounts.find("bob"), Option.none())
    }).pipe(Effect.provide(layer)))
})
