import { Clock, Effect, Option } from "effect"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import type { Subscription } from "#domain/Subscription.ts"
import { minuteMs } from "#domain/Time.ts"
import { Partitions } from "#actors/cluster/Partitions.ts"
import { refuseStoreErrors } from "./StoreRefusal.ts"

/** Age of a subscription in ms whose resource may be fetched for the first time yet. Older ones wait for a host that fails or pauses. */
const maxAgeMs = minuteMs

/**
 * Waits for the first documents of new subscriptions, at most 5 s.
 *
 * A failed fetch, or too many waiting callers, refuse no retrieve: the status of the resource tells that nothing was fetched.
 */
export const makeAwaitDocuments = Effect.gen(function*() {
  const resources = yield* ResourceStore
  const partitions = yield* Partitions

  const awaitDocument = Effect.fnUntraced(function*(resourceId: number) {
    const resource = Option.getOrUndefined(yield* refuseStoreErrors(resources.load(resourceId)))
    if (resource === undefined || resource.lastFetch !== undefined) return
    yield* Effect.ignore(partitions.firstFetch(resource.partition, resourceId))
  })

  return Effect.fnUntraced(function*(subscriptions: ReadonlyArray<Subscription>) {
    const now = yield* Clock.currentTimeMillis
    const young = subscriptions.filter(({ createdAt }) => now - createdAt < maxAgeMs)
    yield* Effect.forEach(young, ({ resourceId }) => awaitDocument(resourceId), {
      concurrency: "unbounded",
      discard: true
    })
  })
})
