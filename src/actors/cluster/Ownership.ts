import { Context, type Effect } from "effect"

/** The partitions of the shards that this runner holds. */
export class Ownership extends Context.Service<Ownership, {
  readonly owned: Effect.Effect<ReadonlyArray<number>>
  /** True when this runner owns at least one partition and all its partitions are awake. */
  readonly ready: Effect.Effect<boolean>
}>()("windhover/actors/cluster/Ownership") {}
