import { Effect, Option } from "effect"
import type { Caller } from "#domain/Account.ts"
import { type NewSubscription, SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import { badParameter, type Refusal } from "#domain/Refusal.ts"
import { tooManySentence } from "#domain/SubscriptionMaximum.ts"
import { refuseStoreErrors } from "./StoreRefusal.ts"

/** Lookups at once. */
const lookupConcurrency = 16

/**
 * The maximum of subscriptions that an operator sets for an account.
 *
 * Counted before a callback is verified. The store counts again, one request of an account at a time, so that requests at the same moment
 * do not exceed the maximum. A change of an existing subscription is always possible. An account without a maximum costs no query.
 */
export const makeAccountSubscriptions = Effect.gen(function*() {
  const subscriptions = yield* SubscriptionStore

  /** The new ones of some subscriptions, beginning with the first one, for which the account has no room. */
  const findSurplus = Effect.fnUntraced(function*(
    { account: { id, maxSubscriptions } }: Caller,
    wanted: ReadonlyArray<NewSubscription>
  ): Effect.fn.Return<ReadonlyArray<NewSubscription>, Refusal> {
    if (maxSubscriptions === undefined) return []
    const found = yield* Effect.forEach(wanted, (one) => refuseStoreErrors(subscriptions.find(one)), {
      concurrency: lookupConcurrency
    })
    const created = wanted.filter((_, i) => Option.isNone(found[i] ?? Option.none()))
    if (created.length === 0) return []
    const room = maxSubscriptions - (yield* refuseStoreErrors(subscriptions.countOfAccount(id, maxSubscriptions)))
    return created.slice(room)
  })

  /** Refuses the subscriptions if one of them is beyond the maximum. */
  const checkRoom = Effect.fnUntraced(function*(caller: Caller, wanted: ReadonlyArray<NewSubscription>) {
    const surplus = yield* findSurplus(caller, wanted)
    if (surplus.length > 0) {
      return yield* badParameter("hub.topic", tooManySentence(caller.account.maxSubscriptions ?? 0))
    }
  })

  return { checkRoom, findSurplus }
})

/** The maximum of the caller's account, for a new subscription. */
export const maximumOf = ({ account: { maxSubscriptions } }: Caller): Pick<NewSubscription, "maxOfAccount"> =>
  maxSubscriptions === undefined ? {} : { maxOfAccount: maxSubscriptions }
