import { Layer } from "effect"
import * as DatabaseEvents from "#actors/cluster/DatabaseEvents.ts"
import * as Partition from "#actors/cluster/Partition.ts"
import { AwakePartitions } from "#actors/cluster/PartitionStarter.ts"
import * as PartitionStarterLayer from "#actors/cluster/PartitionStarterLayer.ts"
import * as PartitionsLayer from "#actors/cluster/PartitionsLayer.ts"
import * as RetentionSweep from "#actors/cluster/RetentionSweep.ts"
import * as Runner from "#actors/cluster/Runner.ts"
import * as RunnersLayer from "#actors/cluster/RunnersLayer.ts"
import * as Bounces from "#actors/operations/Bounces.ts"
import * as EventFeeds from "#actors/operations/EventFeeds.ts"
import * as ExportLayer from "#actors/operations/ExportLayer.ts"
import * as ImportLayer from "#actors/operations/ImportLayer.ts"
import * as HubLayer from "#actors/operations/HubLayer.ts"
import * as IntentVerificationLayer from "#actors/operations/IntentVerificationLayer.ts"
import * as ListenersLayer from "#actors/stream/ListenersLayer.ts"
import * as StrangersTurns from "#actors/operations/StrangersTurns.ts"
import * as OpenHubLayer from "#actors/operations/OpenHubLayer.ts"
import * as SubscriptionControlLayer from "#actors/operations/SubscriptionControlLayer.ts"
import * as DeliveryReportsLayer from "#actors/operations/DeliveryReportsLayer.ts"
import * as RecoveryLayer from "#actors/operations/RecoveryLayer.ts"
import * as InspectorLayer from "#actors/operations/InspectorLayer.ts"
import * as ResourceReportsLayer from "#actors/operations/ResourceReportsLayer.ts"
import * as SecretsLayer from "#actors/operations/SecretsLayer.ts"
import { HubReliability } from "#actors/resource/HubReliability.ts"
import * as HubSubscriptionLayer from "#actors/resource/HubSubscriptionLayer.ts"
import * as ResourceLayer from "#actors/resource/ResourceLayer.ts"
import * as LiveFeed from "#actors/runtime/LiveFeed.ts"
import * as TrafficHistory from "#actors/runtime/TrafficHistory.ts"
import { ActorBudget } from "#actors/runtime/ActorBudget.ts"
import * as SubscriptionLayer from "#actors/subscription/SubscriptionLayer.ts"

/** Starts partitions with the behaviors of their actors. */
const partitionStarter = PartitionStarterLayer.layer.pipe(
  Layer.provide(Layer.mergeAll(ResourceLayer.layer, SubscriptionLayer.layer, HubSubscriptionLayer.layer)),
  Layer.provide(ActorBudget.layer)
)

/** The `Hub` with both its faces. */
const hub = HubLayer.layer.pipe(
  Layer.provide(OpenHubLayer.layer.pipe(Layer.provide(StrangersTurns.layer))),
  Layer.provide(IntentVerificationLayer.layer)
)

/** All actors of a runner, and the `Hub` in front of them. Needs the ports, the `Senders`, and `Sharding` for the shards of this runner. */
export const layer = Layer.mergeAll(
  hub,
  RecoveryLayer.layer,
  SubscriptionControlLayer.layer,
  DeliveryReportsLayer.layer,
  SecretsLayer.layer,
  ImportLayer.layer,
  ExportLayer.layer,
  ResourceReportsLayer.layer,
  InspectorLayer.layer,
  TrafficHistory.layer,
  Runner.layerWakePartitions,
  Runner.layerOverdueSweep,
  Runner.layerHubReliability,
  Runner.layerMetrics,
  Runner.layerResources,
  RunnersLayer.layer.pipe(Layer.provide([Runner.layerResources, TrafficHistory.layer])),
  Bounces.layerTrials,
  EventFeeds.layer,
  DatabaseEvents.layer,
  RetentionSweep.layer
)
  .pipe(
    Layer.provide(Layer.mergeAll(PartitionsLayer.layer, Runner.layerOwnership)),
    Layer.provide(Partition.layer.pipe(Layer.provide(partitionStarter))),
    Layer.provide(AwakePartitions.layer),
    Layer.provide(HubReliability.layer),
    Layer.provide(ListenersLayer.layer),
    Layer.provideMerge(LiveFeed.layer)
  )
