import { Context, type Effect } from "effect"

/** The partitions whose shards this runner holds. */
export class Ownership extends Context.Service<Ownership, {
  readonly owned: Effect.Effect<ReadonlyArray<number>>
  /** True when this runner owns a partition, and all that it owns are awake. */
  readonly ready: Effect.Effect<boolean>
}>()("windhover/actors/cluster/Ownership") {}
