import { Effect, Option } from "effect"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import type { NewSubscription } from "#domain/ports/SubscriptionStore.ts"
import { refuseStoreErrors } from "./StoreRefusal.ts"
import { Partitions } from "#actors/cluster/Partitions.ts"

/**
 * Fetches a known, unwatched resource before its next subscription, so that older changes cause no notification.
 *
 * Returns after the fetch, or after 5 s. A failed fetch, or too many waiting callers, refuse no subscription.
 */
export const makeRefreshBeforeSubscribe = Effect.gen(function*() {
  const resources = yield* ResourceStore
  const partitions = yield* Partitions
  return Effect.fnUntraced(function*({ partition, topic }: Pick<NewSubscription, "partition" | "topic">) {
    const known = Option.getOrUndefined(yield* refuseStoreErrors(resources.find(topic.canonical)))
    if (known?.subscribers !== 0 || known.lastFetch === undefined) return
    yield* partitions.reloadResource(partition, known.id) // a lease may have ended without its actor
    yield* Effect.ignore(partitions.firstFetch(partition, known.id))
  })
})
