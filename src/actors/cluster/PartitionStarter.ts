import { Context, type Effect, Layer, type Scope } from "effect"
import type { HubDirectory } from "#actors/resource/HubDirectory.ts"
import type { ResourceHealth } from "#actors/resource/ResourceHealth.ts"
import type * as HubSubscriptionMessage from "#actors/resource/HubSubscriptionMessage.ts"
import type * as Resource from "#actors/resource/Resource.ts"
import type { Actors } from "#actors/runtime/Actor.ts"
import type * as Subscription from "#actors/subscription/Subscription.ts"
import type { ShardLease } from "#actors/runtime/ShardLease.ts"

/** The actors of one partition. The scope that started the partition ends its actors. */
export interface PartitionActors {
  readonly resources: Actors<Resource.Message>
  readonly subscriptions: Actors<Subscription.Message>
  /** Subscriptions at the hubs of publishers, by the id of the resource. */
  readonly hubSubscriptions: Actors<HubSubscriptionMessage.Message>
  readonly hubDirectory: HubDirectory
  readonly resourceHealth: ResourceHealth
  /** Polls the resource at a random time within the longest period, even if its hub pushes. */
  readonly pollWithinMaxPeriod: (id: number) => Effect.Effect<void>
}

/** Starts the actors of a partition and recovers their work from the database. */
export class PartitionStarter extends Context.Service<PartitionStarter, {
  /** While `lease` is not held, the partition neither sends nor records, because another runner may own the partition. The default is a permanent lease. */
  readonly start: (partition: number, lease?: ShardLease) => Effect.Effect<PartitionActors, never, Scope.Scope>
}>()("windhover/actors/cluster/PartitionStarter") {}

/** The partitions that run on this runner, by number. */
export class AwakePartitions extends Context.Service<AwakePartitions, Map<number, PartitionActors>>()(
  "windhover/actors/cluster/PartitionStarter/AwakePartitions"
) {
  static readonly layer = Layer.sync(AwakePartitions, () => new Map())
}
