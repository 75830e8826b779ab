import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import type { AccountChanges } from "#domain/Account.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { HubSubscriptionStore } from "#domain/ports/HubSubscriptionStore.ts"
import * as SettingsLayer from "#layers/Settings.ts"
import * as MemoryStores from "#test/fakes/MemoryStores.ts"
import { Administration } from "#main/cli/Administration.ts"
import * as AdministrationLayer from "#main/cli/AdministrationLayer.ts"

layer(
  AdministrationLayer.layer.pipe(
    Layer.provideMerge(MemoryStores.layer),
    Layer.provide(SettingsLayer.layerValues({ xmppDomain: "localhost" }))
  )
)("Administration", (it) => {
  it.effect("sets the JID of an account as addresses are compared, and refuses what is none or another's", () =>
    Effect.gen(function*() {
      const administration = yield* Administration
      const store = yield* AccountStore
      yield* administration.createAccount("ann", "a password", false)
      yield* administration.createAccount("bob", "a password", false)
      yield* administration.changeAccount("ann", { jid: "Ann@Example.org/home" })
      yield* administration.changeAccount("ann", { legacyItemNamespace: true })
      const { jid, legacyItemNamespace } = Option.getOrThrow(yield* store.find("ann"))
      assert.deepStrictEqual([jid, legacyItemNamespace], ["ann@example.org", true])

      const message = (login: string, jid: string) =>
        Effect.map(Effect.flip(administration.changeAccount(login, { jid })), (error) => error.message)
      assert.strictEqual(yield* message("bob", "ann@EXAMPLE.org"), "Another account has the JID \"ann@example.org\".")
      assert.include(yield* message("bob", "a b@example.org"), "\"a b@example.org\" is no JID;")
      assert.include(yield* message("nobody", "a@example.org"), "There is no account \"nobody\".")

      yield* administration.changeAccount("ann", { jid: null })
      assert.strictEqual(Option.getOrThrow(yield* store.find("ann")).jid, undefined)
      yield* administration.changeAccount("bob", { jid: "bots.example.org" })
      assert.strictEqual(Option.getOrThrow(yield* store.find("bob")).jid, "bots.example.org")
    }))

  it.effect("makes the first account an operator's, and gives the right admin to tokens of operators only", () =>
    Effect.gen(function*() {
      const administration = yield* Administration
      assert.deepStrictEqual(
        (yield* administration.accounts(undefined, 10)).items.map(({ admin, login }) => [login, admin]),
        [["ann", true], ["bob", undefined]]
      )
      const { message } = yield* Effect.flip(administration.createToken("bob", "", ["admin"]))
      assert.strictEqual(
        message,
        "The account \"bob\" is no operator's, so that its tokens cannot have the right \"admin\". 'windhover account set bob --admin' makes it one."
      )
      yield* administration.changeAccount("bob", { admin: true })
      assert.deepStrictEqual((yield* administration.createToken("bob", "", ["admin"])).token.rights, ["admin"])
      yield* administration.changeAccount("bob", { admin: false })
      assert.strictEqual((yield* administration.createAccount("cleo", "a password", true)).admin, true)
    }))

  it.effect("refuses changes of an account that would have no effect", () =>
    Effect.gen(function*() {
      const administration = yield* Administration
      yield* administration.createAccount("eve", "a password", false)
      const message = (changes: AccountChanges) =>
        Effect.map(Effect.flip(administration.changeAccount("eve", changes)), (error) => error.message)
      assert.strictEqual(
        yield* message({ jid: "ann@LOCALHOST" }),
        "\"ann@localhost\" is the address of the account \"ann\": in the domain of WINDHOVER_XMPP_DOMAIN, the login is the address. "
          + "Use an address on another server."
      )
      assert.strictEqual(
        yield* message({ jid: "eve@localhost" }),
        "\"eve@localhost\" is the address of this account already. --jid is for an address on another server."
      )
      assert.strictEqual(
        yield* message({ jid: "localhost" }),
        "\"localhost\" is the domain of all accounts (WINDHOVER_XMPP_DOMAIN)."
      )
      assert.strictEqual(
        yield* message({}),
        "Nothing to change for \"eve\": give --jid, --legacy-item-namespace, --admin, --disabled or --max-subscriptions."
      )
      assert.strictEqual(Option.getOrThrow(yield* (yield* AccountStore).find("eve")).jid, undefined)
    }))

  it.effect("tells how publishers' hubs do, and which of them are relied on", () =>
    Effect.gen(function*() {
      const administration = yield* Administration
      const { save, addCounts } = yield* HubSubscriptionStore
      const upstream = {
        resourceId: 1,
        partition: 1,
        hubs: ["https://good.example/"],
        hub: "https://good.example/",
        topic: "https://feeds.example/",
        state: "active",
        failures: 0,
        reliable: true,
        revision: 0
      } as const
      yield* save(upstream)
      yield* save({ ...upstream, resourceId: 2, reliable: false })
      yield* addCounts([
        { hub: "https://dead.example/", pushed: 1, missed: 0, consecutiveMisses: 0 },
        { hub: "https://good.example/", pushed: 7, missed: 2, consecutiveMisses: 0 },
        { hub: "https://new.example/", pushed: 0, missed: 1, consecutiveMisses: 1 }
      ])
      yield* addCounts([{ hub: "https://dead.example/", pushed: 0, missed: 3, consecutiveMisses: 3 }])
      assert.deepStrictEqual(yield* administration.hubs(10), [
        { hub: "https://good.example/", subscriptions: 2, pushed: 7, missed: 2, trust: "for 1" },
        { hub: "https://dead.example/", subscriptions: 0, pushed: 1, missed: 3, trust: "no: dead" },
        { hub: "https://new.example/", subscriptions: 0, pushed: 0, missed: 1, trust: "no" }
      ])
    }))
})
