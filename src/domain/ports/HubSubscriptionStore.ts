import { Context, type Effect, type Option } from "effect"
import type { HubCounts, HubReport, HubSubscription } from "#domain/websub/HubSubscription.ts"
import type { StoreError } from "./StoreError.ts"

/** Subscriptions of this service at publishers' hubs, one per resource, and the reliability of the hubs. */
export class HubSubscriptionStore extends Context.Service<HubSubscriptionStore, {
  /** `watched` is true while the resource has a subscription. */
  readonly find: (
    resourceId: number
  ) => Effect.Effect<Option.Option<{ readonly subscription: HubSubscription; readonly watched: boolean }>, StoreError>
  readonly byCallback: (callback: string) => Effect.Effect<Option.Option<HubSubscription>, StoreError>
  /** All rows of a partition, in order of their resources. */
  readonly ofPartition: (partition: number) => Effect.Effect<ReadonlyArray<HubSubscription>, StoreError>
  /** Stores the next revision. False, and no change, when the stored row has another revision (0 without a row). */
  readonly save: (subscription: HubSubscription) => Effect.Effect<boolean, StoreError>
  /** No effect on a row with another revision. */
  readonly remove: (subscription: HubSubscription) => Effect.Effect<void, StoreError>
  /** Adds to the stored counts. Consecutive misses count since the last push, so that counts with a push replace the stored misses. */
  readonly addCounts: (counts: ReadonlyArray<HubCounts>) => Effect.Effect<void, StoreError>
  /** Hubs with so many consecutive misses or more. */
  readonly unreliableHubs: (minMisses: number) => Effect.Effect<ReadonlyArray<string>, StoreError>
  /** At most `limit` hubs: the ones with most subscriptions first, then by address. */
  readonly hubs: (limit: number) => Effect.Effect<ReadonlyArray<HubReport>, StoreError>
}>()("windhover/domain/ports/HubSubscriptionStore") {}
