import { Effect, Option } from "effect"
import { refuseStoreErrors } from "#actors/operations/StoreRefusal.ts"
import { type Caller, type IdentitySource, nameOfIdentity, passwordRights } from "#domain/Account.ts"
import type { AccountStore } from "#domain/ports/AccountStore.ts"
import type { Refusal } from "#domain/Refusal.ts"
import { quote } from "#domain/Topic.ts"
import { unauthenticated } from "./Credentials.ts"

const names: { readonly [S in IdentitySource]: string } = { proxy: "The proxy", provider: "The identity provider" }

/** The owner of the account with exactly this login. Never creates an account: an operator decides who may use the service. */
export const findOwner = (
  accounts: AccountStore["Service"],
  source: IdentitySource,
  login: string
): Effect.Effect<Caller, Refusal> =>
  Effect.gen(function*() {
    const account = Option.getOrUndefined(yield* refuseStoreErrors(accounts.find(login)))
    // A store drops characters that its database cannot hold, such as U+0000.
    if (account?.login !== login) {
      return yield* unauthenticated(
        `${names[source]} signs you in as ${
          quote(login)
        }, and there is no account with this login. An operator creates ` +
          `accounts at /dashboard/accounts, or with 'windhover account create'.`
      )
    }
    if (account.disabled === true) {
      return yield* unauthenticated(`The account ${quote(login)} is disabled. An operator can enable it.`)
    }
    return { account, rights: new Set(passwordRights(account)), credential: nameOfIdentity(source, account.id) }
  })
