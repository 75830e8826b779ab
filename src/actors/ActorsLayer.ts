import { Layer } from "effect"
import * as IntentVerification from "#actors/operations/IntentVerification.ts"
import * as Bounces from "#actors/operations/Bounces.ts"
import * as HubLayer from "#actors/operations/HubLayer.ts"
import { HubReliability } from "#actors/resource/HubReliability.ts"
import { Listeners } from "#actors/operations/Listeners.ts"
import * as Maintenance from "#actors/cluster/Maintenance.ts"
import * as OpenHub from "#actors/operations/OpenHub.ts"
import * as Partition from "#actors/cluster/Partition.ts"
import { ActorBudget } from "#actors/runtime/ActorBudget.ts"
import * as Resource from "#actors/resource/Resource.ts"
import * as Runner from "#actors/cluster/Runner.ts"
import * as Subscription from "#actors/subscription/Subscription.ts"
import * as HubSubscription from "#actors/resource/HubSubscription.ts"

const supervisor = Partition.PartitionStarter.layer.pipe(
  Layer.provide(Layer.mergeAll(Resource.layer, Subscription.layer, HubSubscription.layer)),
  Layer.provide(ActorBudget.layer)
)

/** The `Hub` with both its faces. */
const hub = HubLayer.layer.pipe(Layer.provide(OpenHub.layer), Layer.provide(IntentVerification.layer))

/**
 * All actors of a runner, and the `Hub` in front of them. From outside: the ports, the `Senders`, and `Sharding`,
 * which says what this runner holds.
 */
export const layer = Layer.mergeAll(
  hub,
  Runner.layerWake,
  Runner.layerSweep,
  Runner.layerTrust,
  Bounces.layerTrials,
  Maintenance.layer
)
  .pipe(
    Layer.provide(Layer.mergeAll(Runner.Partitions.layer, Runner.Ownership.layer)),
    Layer.provide(Partition.layer.pipe(Layer.provide(supervisor))),
    Layer.provide(Partition.AwakePartitions.layer),
    Layer.provide(HubReliability.layer),
    Layer.provide(Listeners.layer)
  )
