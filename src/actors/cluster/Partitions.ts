import { Context, type Effect } from "effect"
import type { PushedDocument } from "#domain/poll/PushedDocument.ts"
import type { Refusal } from "#domain/Refusal.ts"

/**
 * Calls to the owner of a partition, on any runner.
 *
 * Calls without a result are hints: a lost one is logged, and the owner finds the same work in the database later.
 */
export class Partitions extends Context.Service<Partitions, {
  readonly ping: (partition: number, resourceId: number) => Effect.Effect<void>
  /**
   * Pings a resource that waits for its next poll on this runner, and therefore has a subscriber. Returns false for any other one: of
   * another runner, without a subscriber, or with an alarm that has just fired.
   */
  readonly pingIfPolled: (partition: number, resourceId: number) => Effect.Effect<boolean>
  /** Returns when the new entries of the document are stored, or after 10 s; the resource is fetched instead then. */
  readonly push: (partition: number, resourceId: number, document: PushedDocument) => Effect.Effect<void>
  /** Returns true when the new entries of the document are stored; false when that takes longer than 8 s, so that the hub has to push again. */
  readonly hubPush: (partition: number, resourceId: number, document: PushedDocument) => Effect.Effect<boolean>
  readonly reloadHubSubscription: (partition: number, resourceId: number) => Effect.Effect<void>
  readonly reloadResource: (partition: number, resourceId: number) => Effect.Effect<void>
  /** The next document of the resource, which was unwatched, is no news. Call this before `reloadResource`. */
  readonly rebase: (partition: number, resourceId: number) => Effect.Effect<void>
  readonly reloadSubscription: (partition: number, subscriptionId: number) => Effect.Effect<void>
  /** Returns after the first fetch of the resource, or after 5 s. Fails when too many callers wait for this fetch. */
  readonly firstFetch: (partition: number, resourceId: number) => Effect.Effect<void, Refusal>
  /** Returns when the subscription gets no more deliveries, or after 10 s. An owner that is unreachable for 10 s delivers no more either. */
  readonly forget: (partition: number, subscriptionId: number) => Effect.Effect<void>
}>()("windhover/actors/cluster/Partitions") {}

/** The partitions of the shards that this runner holds. */
export class Ownership extends Context.Service<Ownership, {
  readonly owned: Effect.Effect<ReadonlyArray<number>>
  /** True when this runner owns at least one partition and all its partitions are awake. */
  readonly ready: Effect.Effect<boolean>
}>()("windhover/actors/cluster/Partitions/Ownership") {}
