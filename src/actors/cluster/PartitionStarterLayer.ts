import { Clock, Effect, Layer, Random } from "effect"
import { fetchSpacingMs } from "#domain/limits/HostPoliteness.ts"
import { intervalBoundsOf } from "#domain/poll/PollingInterval.ts"
import { HostPauses } from "#domain/ports/HostPauses.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { warnOfStoreError } from "#domain/ports/StoreError.ts"
import { HostThrottle } from "#actors/limits/HostThrottle.ts"
import { HubDirectory } from "#actors/resource/HubDirectory.ts"
import { HubReliability } from "#actors/resource/HubReliability.ts"
import * as HubSubscription from "#actors/resource/HubSubscription.ts"
import * as HubSubscriptionMessage from "#actors/resource/HubSubscriptionMessage.ts"
import * as Resource from "#actors/resource/Resource.ts"
import { ResourceHealth } from "#actors/resource/ResourceHealth.ts"
import * as ResourceMailbox from "#actors/resource/ResourceMailbox.ts"
import { ActorBudget } from "#actors/runtime/ActorBudget.ts"
import * as ActorSystem from "#actors/runtime/ActorSystem.ts"
import * as Subscription from "#actors/subscription/Subscription.ts"
import { makePartitionRecovery } from "./PartitionRecovery.ts"
import { type PartitionActors, PartitionStarter } from "./PartitionStarter.ts"
import { permanentLease, type ShardLease } from "#actors/runtime/ShardLease.ts"

/** Maximum wait of a stopping runner for deliveries in flight. */
const drainTimeout = "10 seconds"

export const layer = Layer.effect(
  PartitionStarter,
  Effect.gen(function*() {
    const startActors = yield* makeStartActors
    const recover = yield* makePartitionRecovery
    const { minPeriodSeconds } = yield* Settings
    return PartitionStarter.of({
      start: Effect.fn("PartitionStarter.start")(function*(partition, lease) {
        const throttle = new HostThrottle(fetchSpacingMs(minPeriodSeconds))
        const actors = yield* startActors(partition, lease ?? permanentLease, throttle)
        yield* recover(partition, actors, throttle)
        return actors
      })
    })
  })
)

/** The three actor groups of a partition, connected by messages only. */
const makeStartActors = Effect.gen(function*() {
  const settings = yield* Settings
  const hostPauses = yield* HostPauses
  const hubReliability = yield* HubReliability
  const resource = yield* Resource.ResourceBehavior
  const subscription = yield* Subscription.SubscriptionBehavior
  const hubSubscription = yield* HubSubscription.HubSubscriptionBehavior
  const withBudget = Effect.provideService(ActorBudget, yield* ActorBudget)
  const { maxPeriod } = intervalBoundsOf(settings)

  return Effect.fnUntraced(function*(partition: number, lease: ShardLease, throttle: HostThrottle) {
    const reloadResource = (id: number) => Effect.suspend(() => resources.tell(id, { _tag: "Reload" }))
    const subscriptions = yield* ActorSystem.make<Subscription.State, Subscription.Message>({
      name: "subscription",
      alarm: Subscription.checkOutbox,
      behavior: (self) => subscription.run(self, { lease, reloadResource }),
      join: Subscription.join
    }).pipe(withBudget)
    // Deliveries in flight finish. Fetches are interrupted, because the next owner fetches again.
    yield* Effect.addFinalizer(() => Effect.timeoutOption(subscriptions.drain, drainTimeout))

    const hubDirectory = new HubDirectory(
      hubReliability,
      settings.baseUrl,
      (id, message) => Effect.suspend(() => hubSubscriptions.tell(id, message))
    )
    const resourceHealth = new ResourceHealth()
    const context: Resource.PartitionContext = {
      health: resourceHealth,
      hostThrottle: throttle,
      refuse: (refusal) => refuse(hostPauses, partition, throttle, refusal),
      hubDirectory,
      wakeResource: (id) => Effect.suspend(() => resources.tell(id, Resource.poll)),
      deliver: (delivery) => subscriptions.tell(delivery.subscriptionId, { _tag: "Deliver", delivery }),
      awaitLease: lease.awaitHeld
    }
    const resources = yield* ActorSystem.make<Resource.State, Resource.Message>({
      name: "resource",
      alarm: Resource.poll,
      behavior: (self) => resource.run(self, context),
      join: ResourceMailbox.join,
      needsSlot: true
    }).pipe(withBudget)
    const pollWithinMaxPeriod = Effect.fnUntraced(function*(id: number) {
      const waitMs = Math.round((yield* Random.next) * maxPeriod * 1000)
      yield* resources.tell(id, { _tag: "PollBy", at: (yield* Clock.currentTimeMillis) + waitMs })
    })

    const hubSubscriptions = yield* ActorSystem.make<HubSubscription.State, HubSubscriptionMessage.Message>({
      name: "hub subscription",
      alarm: HubSubscriptionMessage.check,
      behavior: (self) => hubSubscription.run(self, { hubDirectory, pollWithinMaxPeriod }),
      join: HubSubscriptionMessage.join
    }).pipe(withBudget)
    return {
      resources,
      subscriptions,
      hubSubscriptions,
      hubDirectory,
      resourceHealth,
      pollWithinMaxPeriod
    } satisfies PartitionActors
  })
})

/** Delays a refused resource. Pauses its host at once where needed, and stores the pause for the next owner of the partition. */
const refuse = (
  hostPauses: HostPauses["Service"],
  partition: number,
  throttle: HostThrottle,
  { host, resourceId, since, until: asked }: Resource.HostRefusal
): Effect.Effect<void> => {
  const until = throttle.refuse(host, resourceId, since, asked)
  if (until <= since) return Effect.void
  return Effect.catchTag(
    hostPauses.save(partition, { host, since, until }),
    "StoreError",
    (error) =>
      warnOfStoreError("The pause of a host could not be stored; it ends with a restart.")(error).pipe(
        Effect.annotateLogs({ host, partition })
      )
  )
}
