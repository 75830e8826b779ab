import { Context, type Effect, type Option } from "effect"
import type { HubCounts, HubReport, HubSubscription } from "#domain/websub/HubSubscription.ts"
import type { StoreError } from "./StoreError.ts"

/** The subscriptions of this service at the hubs of publishers, one a resource, and how the hubs do. */
export class HubSubscriptionStore extends Context.Service<HubSubscriptionStore, {
  /** With whether somebody is subscribed to the resource. */
  readonly find: (
    resourceId: number
  ) => Effect.Effect<Option.Option<{ readonly subscription: HubSubscription; readonly watched: boolean }>, StoreError>
  readonly byCallback: (callback: string) => Effect.Effect<Option.Option<HubSubscription>, StoreError>
  /** All of a partition, in order of their resources. */
  readonly ofPartition: (partition: number) => Effect.Effect<ReadonlyArray<HubSubscription>, StoreError>
  /** Stores it under the next revision; false, and nothing is stored, when the stored one has another revision than this (0: there is none). */
  readonly save: (upstream: HubSubscription) => Effect.Effect<boolean, StoreError>
  /** Unless it has another revision meanwhile. */
  readonly remove: (upstream: HubSubscription) => Effect.Effect<void, StoreError>
  /** Adds to what is known of the hubs. Strikes count since the last push: a tally with one starts them anew. */
  readonly addCounts: (tallies: ReadonlyArray<HubCounts>) => Effect.Effect<void, StoreError>
  /** Hubs with so many strikes or more. */
  readonly unreliableHubs: (strikes: number) => Effect.Effect<ReadonlyArray<string>, StoreError>
  /** So many hubs, those with most subscriptions first, then by address. */
  readonly hubs: (limit: number) => Effect.Effect<ReadonlyArray<HubReport>, StoreError>
}>()("windhover/domain/ports/HubSubscriptionStore") {}
