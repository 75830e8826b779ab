import { Clock, Effect } from "effect"
import { plannedFetch } from "#domain/poll/PollingInterval.ts"
import { HostPauses } from "#domain/ports/HostPauses.ts"
import { HubSubscriptionStore } from "#domain/ports/HubSubscriptionStore.ts"
import { Outbox } from "#domain/ports/Outbox.ts"
import { Pings } from "#domain/ports/Pings.ts"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import { plannedStep } from "#domain/websub/HubSubscription.ts"
import type { HostThrottle } from "#actors/limits/HostThrottle.ts"
import * as Resource from "#actors/resource/Resource.ts"
import { whenAvailable } from "#actors/runtime/StoreRetry.ts"
import * as Subscription from "#actors/subscription/Subscription.ts"
import type { PartitionActors } from "./PartitionStarter.ts"

/** Milliseconds between two overdue fetches of a partition: after a stop, all its resources may be overdue. */
const overdueSpacingMs = 75

/** Time within which a partition fetches all its overdue resources, in ms. The spacing shrinks from 4,000 overdue resources on. */
const overdueWindowMs = 300_000

/** Makes the function that gives the actors of a partition the work that its former owner left in the database. */
export const makePartitionRecovery = Effect.gen(function*() {
  const hostPauses = yield* HostPauses
  const hubSubscriptions = yield* HubSubscriptionStore
  const resources = yield* ResourceStore
  const outbox = yield* Outbox
  const pings = yield* Pings
  return Effect.fnUntraced(function*(partition: number, actors: PartitionActors, throttle: HostThrottle) {
    yield* recoverHostPauses(hostPauses, partition, throttle)
    yield* recoverHubSubscriptions(hubSubscriptions, partition, actors)
    yield* recoverAlarms(resources, partition, actors)
    const started = new Map([[partition, actors]])
    yield* whenAvailable(wakeStalledSubscriptions(outbox, started, Infinity))
    yield* whenAvailable(repeatUnansweredPings(pings, started, Infinity))
  })
})

/** Pauses of hosts. A pause that begins in the future comes from a clock that was ahead, and is skipped. */
const recoverHostPauses = Effect.fnUntraced(
  function*(store: HostPauses["Service"], partition: number, throttle: HostThrottle) {
    const pauses = yield* whenAvailable(store.ofPartition(partition))
    const now = yield* Clock.currentTimeMillis
    for (const { host, since, until } of pauses) if (since <= now) throttle.pause(host, since, until)
  }
)

/** Subscriptions at hubs and their alarms. The directory is complete before the first poll. */
const recoverHubSubscriptions = Effect.fnUntraced(
  function*(store: HubSubscriptionStore["Service"], partition: number, actors: PartitionActors) {
    const now = yield* Clock.currentTimeMillis
    let position = 0
    for (const hubSubscription of yield* whenAvailable(store.ofPartition(partition))) {
      actors.hubDirectory.set(hubSubscription)
      if (hubSubscription.dueAt === undefined && hubSubscription.state !== "idle") continue
      const at = plannedStep(hubSubscription, now)
      yield* actors.hubSubscriptions.wakeAt(
        hubSubscription.resourceId,
        at <= now ? now + position++ * overdueSpacingMs : at
      )
    }
  }
)

/** The alarm of each watched resource; overdue ones are spaced. */
const recoverAlarms = Effect.fnUntraced(
  function*(store: ResourceStore["Service"], partition: number, { resourceHealth, resources }: PartitionActors) {
    const { dueAt, failing, ids } = yield* whenAvailable(store.alarms(partition))
    resourceHealth.addFailing(failing)
    const now = yield* Clock.currentTimeMillis
    const overdue = dueAt.reduce((count, at) => plannedFetch(at, now) <= now ? count + 1 : count, 0)
    const spacingMs = Math.min(overdueSpacingMs, overdueWindowMs / Math.max(overdue, 1))
    let position = 0
    const wakeAt = dueAt.map((planned) => {
      const at = plannedFetch(planned, now)
      return at <= now ? now + position++ * spacingMs : at
    })
    yield* resources.wakeAllAt(ids, wakeAt)
  }
)

/** Wakes the subscriptions whose deliveries in the outbox have been due since before `before` (epoch ms). */
export const wakeStalledSubscriptions = Effect.fnUntraced(
  function*(outbox: Outbox["Service"], partitions: ReadonlyMap<number, PartitionActors>, before: number) {
    const stalled = yield* outbox.findStalled([...partitions.keys()], before)
    yield* Effect.forEach(
      stalled,
      ({ partition, subscriptionId }) =>
        partitions.get(partition)?.subscriptions.tell(subscriptionId, Subscription.checkOutbox) ?? Effect.void,
      { discard: true }
    )
  }
)

/** Pings the resources whose stored pings have waited for a fetch since before `before` (epoch ms). */
export const repeatUnansweredPings = Effect.fnUntraced(
  function*(pings: Pings["Service"], partitions: ReadonlyMap<number, PartitionActors>, before: number) {
    const unanswered = yield* pings.findUnanswered([...partitions.keys()], before)
    yield* Effect.forEach(
      unanswered,
      ({ partition, resourceId }) =>
        partitions.get(partition)?.resources.tell(resourceId, Resource.ping) ?? Effect.void,
      { discard: true }
    )
  }
)
