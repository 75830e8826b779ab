/** The actors of production over a simulated network and simulated stores, so that no other part delays a poll. */
import { Effect, Layer } from "effect"
import * as PartitionStarterLayer from "#actors/cluster/PartitionStarterLayer.ts"
import { HubReliability } from "#actors/resource/HubReliability.ts"
import { HubSubscriptionBehavior } from "#actors/resource/HubSubscription.ts"
import * as ResourceLayer from "#actors/resource/ResourceLayer.ts"
import { ActorBudget } from "#actors/runtime/ActorBudget.ts"
import { Listeners } from "#actors/stream/Listeners.ts"
import * as Senders from "#actors/subscription/Senders.ts"
import * as SubscriptionLayer from "#actors/subscription/SubscriptionLayer.ts"
import { AddressCheck } from "#domain/ports/AddressCheck.ts"
import { BounceStore } from "#domain/ports/BounceStore.ts"
import { Deliverer } from "#domain/ports/Deliverer.ts"
import { DeliveryLog } from "#domain/ports/DeliveryLog.ts"
import { EntryStore } from "#domain/ports/EntryStore.ts"
import { EventLog } from "#domain/ports/EventLog.ts"
import { FeedReader } from "#domain/ports/FeedReader.ts"
import type { Fetcher } from "#domain/ports/Fetcher.ts"
import { HostPauses } from "#domain/ports/HostPauses.ts"
import { HubSubscriptionStore } from "#domain/ports/HubSubscriptionStore.ts"
import { Outbox } from "#domain/ports/Outbox.ts"
import { Pings } from "#domain/ports/Pings.ts"
import type { ResourceStore } from "#domain/ports/ResourceStore.ts"
import { Selector } from "#domain/ports/Selector.ts"
import type { SettingsValues } from "#domain/ports/Settings.ts"
import { SubscriptionHealth } from "#domain/ports/SubscriptionHealth.ts"
import { SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import { VerificationQueue } from "#domain/ports/VerificationQueue.ts"
import * as Settings from "#layers/Settings.ts"

/** Starts partitions whose resources come from `store` and whose documents come from `fetcher`. */
export const layerSimulatedActors = (
  store: Layer.Layer<ResourceStore>,
  fetcher: Layer.Layer<Fetcher>,
  settings: Partial<SettingsValues>
) =>
  PartitionStarterLayer.layer.pipe(
    Layer.provide(Layer.mergeAll(ResourceLayer.layer, SubscriptionLayer.layer)),
    Layer.provide(ActorBudget.layer),
    Layer.provide(Senders.layer),
    Layer.provide([
      store,
      fetcher,
      Layer.mock(EventLog, { publish: () => Effect.void }),
      Layer.mock(Listeners, { notify: () => Effect.void }),
      Layer.mock(HubSubscriptionBehavior, {}),
      Layer.mock(HubReliability, { enabled: false, isUnreliable: () => false, addCounts: () => {} }),
      Layer.mock(HostPauses, { save: () => Effect.void, ofPartition: () => Effect.succeed([]) }),
      Layer.mock(HubSubscriptionStore, { ofPartition: () => Effect.succeed([]) }),
      Layer.mock(Pings, { findUnanswered: () => Effect.succeed([]) }),
      Layer.mock(Outbox, { findStalled: () => Effect.succeed([]) }),
      Layer.mock(BounceStore, {}),
      Layer.mock(SubscriptionStore, {}),
      Layer.mock(SubscriptionHealth, {}),
      Layer.mock(AddressCheck, {}),
      Layer.mock(VerificationQueue, {}),
      Layer.mock(Deliverer, {}),
      Layer.mock(DeliveryLog, {}),
      Layer.mock(EntryStore, {}),
      Layer.mock(FeedReader, {}),
      Layer.mock(Selector, {})
    ]),
    Layer.provide(Settings.layerValues(settings))
  )
