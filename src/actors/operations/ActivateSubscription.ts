import { Effect, Option } from "effect"
import { withoutFragment } from "#domain/poll/Fragment.ts"
import { Pings } from "#domain/ports/Pings.ts"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import { type NewSubscription, SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import * as Topic from "#domain/Topic.ts"
import { Partitions } from "#actors/cluster/Partitions.ts"
import { refuseStoreErrors } from "./StoreRefusal.ts"

/**
 * Stores a subscription of the hub face whose callback has agreed. The resource is created and fetched from here on.
 *
 * A publisher may ping as soon as the callback has agreed, before the row exists. Such a ping found no subscriber, and is repeated.
 * So pings since `askedAt` (epoch ms) reach the owner before the first fetch.
 */
export const makeActivate = Effect.gen(function*() {
  const partitions = yield* Partitions
  const resources = yield* ResourceStore
  const subscriptions = yield* SubscriptionStore
  const isPingedSince = yield* makeIsPingedSince

  return Effect.fnUntraced(function*(wanted: NewSubscription, askedAt: number) {
    const { partition, topic } = wanted
    const known = Option.getOrUndefined(yield* refuseStoreErrors(resources.find(topic.canonical)))
    const stored = yield* refuseStoreErrors(subscriptions.subscribe(wanted))
    const { resource, subscription } = stored
    const isPinged = yield* refuseStoreErrors(isPingedSince(topic, askedAt))
    if (known?.id === resource.id && known.subscribers === 0 && known.lastFetch !== undefined) {
      yield* partitions.rebase(partition, resource.id)
    }
    if (isPinged) yield* partitions.ping(partition, resource.id)
    yield* partitions.reloadResource(partition, resource.id)
    if (!stored.created) yield* partitions.reloadSubscription(partition, subscription.id)
    return stored
  }, Effect.uninterruptible)
})

/** Whether a publisher has pinged the topic, or the page of its fragment, since a time. */
const makeIsPingedSince = Effect.map(
  Pings,
  (pings) =>
    Effect.fnUntraced(function*({ canonical }: Topic.Topic, since: number) {
      const page = withoutFragment(canonical)
      const recent = yield* pings.listTopicsSince(since)
      return recent.some((topic) => {
        const parsed = Topic.parse(topic)
        return parsed._tag === "Success" &&
          (parsed.success.canonical === canonical || parsed.success.canonical === page)
      })
    })
)
