import { Effect } from "effect"
import type { ResumedSubscription } from "#domain/ports/BounceStore.ts"
import { Partitions } from "#actors/cluster/Partitions.ts"

/** Owners that are notified at once. */
const concurrency = 8

/** Lets the owners load resumed or paused subscriptions again. */
export const makeReloadSubscriptions = Effect.map(
  Partitions,
  (partitions) => (changed: ReadonlyArray<ResumedSubscription>) =>
    Effect.forEach(changed, ({ id, partition, resourceId }) =>
      Effect.andThen(
        partitions.reloadSubscription(partition, id),
        partitions.reloadResource(partition, resourceId)
      ), { concurrency, discard: true })
)
