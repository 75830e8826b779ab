import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import * as StoresMemory from "#layers/StoresMemory.ts"
import * as Administration from "#main/cli/Administration.ts"

layer(Administration.layer.pipe(Layer.provideMerge(StoresMemory.layer)))("Administration", (it) => {
  it.effect("sets the JID of an account as addresses are compared, and refuses what is none or another's", () =>
    Effect.gen(function*() {
      const administration = yield* Administration.Administration
      const store = yield* AccountStore
      yield* administration.createAccount("ann", "a password")
      yield* administration.createAccount("bob", "a password")
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
})
