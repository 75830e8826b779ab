import { countOf } from "#domain/Count.ts"
import { Effect } from "effect"
import { Settings } from "#domain/ports/Settings.ts"
import { type NewSubscription, SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import { refuseThrottled } from "#domain/Refusal.ts"
import * as Topic from "#domain/Topic.ts"
import { refuseStoreErrors } from "./StoreRefusal.ts"

/** `Retry-After` of a site or network with too many subscriptions, in seconds. */
const retryAfter = 3_600

/**
 * Limits of the open hub's subscriptions, by the site and by the network of the callback.
 *
 * The owner of a domain has any number of hosts, and the owner of an address has any number of domains.
 */
export const makeSubscriptionLimits = Effect.gen(function*() {
  const subscriptions = yield* SubscriptionStore
  const { hubSubscriptionsPerSite: limit } = yield* Settings

  const checkSiteLimit = Effect.fnUntraced(function*({ host }: NewSubscription) {
    const site = Topic.siteOf(host)
    const count = yield* refuseStoreErrors(subscriptions.countOnSite(site, limit))
    if (count >= limit) return yield* refuse(`on ${site}`, count)
  })

  /** A name that was not resolved has no network. */
  const checkNetworkLimit = Effect.fnUntraced(function*(network: string | undefined) {
    if (network === undefined) return
    const count = yield* refuseStoreErrors(subscriptions.countInNetwork(network, limit))
    if (count >= limit) return yield* refuse("in the network of this address", count)
  })

  return { checkNetworkLimit, checkSiteLimit }
})

const refuse = (place: string, count: number) =>
  Effect.fail(
    refuseThrottled(
      `The callbacks ${place} have ${
        countOf(count, "subscription")
      }; no more are accepted on this hub. Unsubscribe some.`,
      retryAfter
    )
  )
