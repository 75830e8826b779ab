import { Effect, Option } from "effect"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import type { NewSubscription } from "#domain/ports/SubscriptionStore.ts"
import { refuseStoreErrors } from "./Refusing.ts"
import { Partitions } from "#actors/cluster/Partitions.ts"

/**
 * Fetches what was known once and is watched by nobody, before somebody is subscribed: what has changed since is old, and told to nobody.
 *
 * Returns when it is known as it is now, or after 5 s. That it cannot be fetched, or that too many wait for it, refuses no subscription.
 */
export const makeRefreshBeforeSubscribe = Effect.gen(function*() {
  const resources = yield* ResourceStore
  const partitions = yield* Partitions
  return Effect.fnUntraced(function*({ partition, topic }: Pick<NewSubscription, "partition" | "topic">) {
    const known = Option.getOrUndefined(yield* refuseStoreErrors(resources.find(topic.canonical)))
    if (known?.subscribers !== 0 || known.hasHubSubscribers !== undefined || known.lastFetch === undefined) return
    yield* partitions.reloadResource(partition, known.id) // a lease may have ended without its actor
    yield* Effect.ignore(partitions.firstFetch(partition, known.id))
  })
})
