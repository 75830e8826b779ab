import { Effect, Option } from "effect"
import type { Caller } from "#domain/Account.ts"
import { SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import { badParameter, type Refusal } from "#domain/Refusal.ts"
import type { Subscription } from "#domain/Subscription.ts"
import * as Topic from "#domain/Topic.ts"
import { makeMayRead, makeParseTopic, refuseEvents } from "./ParseTopic.ts"
import { refuseNotSubscribed } from "./Representations.ts"
import { refuseStoreErrors } from "./StoreRefusal.ts"

/** Names a subscription of the caller: by its id, or by topic and callback. */
export interface SubscriptionName {
  readonly subscription?: number
  readonly topic?: string
  readonly callback?: string
}

/** True when a request names a subscription in part or in whole. */
export const namesSubscription = ({ callback, subscription, topic }: SubscriptionName): boolean =>
  subscription !== undefined || topic !== undefined || callback !== undefined

/**
 * Finds the named subscription of the caller.
 *
 * The subscription of another account is refused as an unknown one, so that a caller cannot learn which ids exist.
 */
export const makeFindSubscription = Effect.gen(function*() {
  const subscriptions = yield* SubscriptionStore
  const parseTopic = yield* makeParseTopic
  const mayRead = yield* makeMayRead
  const findById = Effect.fnUntraced(function*(caller: Caller, id: number) {
    const found = Option.getOrUndefined(yield* refuseStoreErrors(subscriptions.load(id)))
    if (found?.accountId !== caller.account.id) {
      return yield* refuseNotSubscribed(
        `Your account has no subscription ${id}; hub.mode=list with detailed=true shows the ids.`
      )
    }
    return mayRead(caller, found) ? found : yield* refuseEvents
  })

  const findByCallback = Effect.fnUntraced(function*(caller: Caller, given: string, callback: string) {
    const { canonical } = yield* parseTopic(given, caller, "topic")
    const known = yield* refuseStoreErrors(subscriptions.findByTopic(caller.account.id, canonical))
    const found = known.find(({ endpoint }) => endpoint === callback)
    return found ??
      (yield* refuseNotSubscribed(
        `You are not subscribed to ${Topic.quote(given)} with the callback ${Topic.quote(callback)}.`
      ))
  })

  return (
    caller: Caller,
    { callback, subscription, topic }: SubscriptionName
  ): Effect.Effect<Subscription, Refusal> => {
    if (subscription !== undefined) {
      return topic === undefined && callback === undefined
        ? findById(caller, subscription)
        : Effect.fail(
          badParameter("subscription", "Please provide either subscription, or topic and callback, not both.")
        )
    }
    return topic !== undefined && callback !== undefined
      ? findByCallback(caller, topic, callback)
      : Effect.fail(
        badParameter(
          "subscription",
          "Please provide subscription, the id of a subscription, or both topic and callback."
        )
      )
  }
})
