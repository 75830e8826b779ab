import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { findOwner } from "#http/OutsideIdentity.ts"
import { caller } from "#test/support/Api.ts"

/** Drops U+0000, as the store of PostgreSQL does. */
const store = Layer.mock(AccountStore, {
  find: (login) =>
    Effect.succeed(login.replaceAll("\0", "") === "alice" ? Option.some(caller().account) : Option.none())
})

const find = (login: string) => AccountStore.use((accounts) => findOwner(accounts, "provider", login))

describe("findOwner", () => {
  it.effect("finds the account with the login of the claim, to the letter", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* find("alice")).credential, `provider:${caller().account.id}`)
      const refusal = yield* Effect.flip(find("al\0ice"))
      assert.include(refusal.message, "signs you in as \"al\\u0000ice\", and there is no account with this login")
    }).pipe(Effect.provide(store)))
})
