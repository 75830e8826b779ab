import { Effect } from "effect"
import { type NewSubscription, SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import type { Subscription } from "#domain/Subscription.ts"
import { Partitions } from "#actors/cluster/Partitions.ts"
import { refuseStoreErrors } from "./StoreRefusal.ts"

/** Runs a call to the owner of a partition: the caller waits for it, or goes on at once. */
export type Notify = (call: Effect.Effect<void>) => Effect.Effect<void>

/** Calls run in the scope of the layer; the caller goes on at once. */
export const makeBackground: Effect.Effect<Notify, never, Effect.Services<typeof Effect.scope>> = Effect.map(
  Effect.scope,
  (scope) => (call) => Effect.asVoid(Effect.forkIn(call, scope))
)

/** The caller waits until the owner has answered. */
export const awaited: Notify = (call) => call

/**
 * Stores and removes subscriptions, and notifies the owners of their partitions.
 *
 * A client that disconnects interrupts neither function between the row and the owner: an owner without notice polls for a removed
 * subscription, or leaves a new one unpolled until the next start.
 */
export const makeSubscriptionWriter = Effect.fnUntraced(function*(notify: Notify) {
  const subscriptions = yield* SubscriptionStore
  const partitions = yield* Partitions

  const save = Effect.fnUntraced(function*(wanted: NewSubscription) {
    const stored = yield* refuseStoreErrors(subscriptions.subscribe(wanted))
    yield* notify(partitions.reloadResource(wanted.partition, stored.resource.id))
    if (!stored.created) yield* notify(partitions.reloadSubscription(wanted.partition, stored.subscription.id))
    return stored
  }, Effect.uninterruptible)

  const remove = Effect.fnUntraced(function*({ id, resourceId }: Subscription, partition: number) {
    yield* refuseStoreErrors(subscriptions.remove(id))
    yield* partitions.forget(partition, id)
    yield* notify(partitions.reloadResource(partition, resourceId))
  }, Effect.uninterruptible)

  /** Takes back a subscription whose request has failed, with the resource that it created. */
  const discard = Effect.fnUntraced(function*({ id, resourceId }: Subscription, partition: number) {
    yield* refuseStoreErrors(subscriptions.discard(id))
    yield* partitions.forget(partition, id)
    yield* notify(partitions.reloadResource(partition, resourceId))
  }, Effect.uninterruptible)

  return { discard, remove, save }
})
