import { Effect, Option } from "effect"
import { passwordRights } from "#domain/Account.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { NotSubscribed, type Refusal } from "#domain/Refusal.ts"
import { Hub } from "./Hub.ts"
import { refuseStoreErrors } from "./StoreRefusal.ts"

/** Subscriptions that one call ends. */
const maxSubscriptions = 200

/** `more`: the account has further subscriptions, and another call goes on. */
export type DeletedAccount = "deleted" | "more" | "unknown"

/**
 * Deletes an account: disables it, ends its subscriptions, then deletes it with its tokens and sessions.
 *
 * Each subscription ends through its owner, so that no actor delivers for a deleted account.
 */
export const deleteAccount = Effect.fn("deleteAccount")(function*(
  login: string
): Effect.fn.Return<DeletedAccount, Refusal, AccountStore | Hub> {
  const accounts = yield* AccountStore
  const hub = yield* Hub
  const account = Option.getOrUndefined(yield* refuseStoreErrors(accounts.find(login)))
  if (account === undefined) return "unknown"
  yield* accounts.update(account.login, { disabled: true }).pipe(
    Effect.catchTag("JidTaken", Effect.die),
    refuseStoreErrors
  )
  const caller = { account, rights: new Set(passwordRights(account)), credential: "" }
  const { items } = yield* hub.list({ caller, page: 1, byPage: maxSubscriptions, counted: false })
  yield* Effect.forEach(
    items,
    ({ subscription: { endpoint, face, topic } }) =>
      hub.unsubscribe({ caller, topic, callback: endpoint, face }).pipe(
        // the subscription has ended meanwhile
        Effect.catchIf(({ reason }) => reason instanceof NotSubscribed, () => Effect.void)
      ),
    { concurrency: 8, discard: true }
  )
  const removed = yield* refuseStoreErrors(accounts.remove(account.login))
  return removed === "subscribed" ? "more" : "deleted"
})
