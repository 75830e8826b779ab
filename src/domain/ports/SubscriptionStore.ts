import { Context, type Effect, type Option } from "effect"
import type { ResourceState } from "#domain/Resource.ts"
import type { Subscription } from "#domain/Subscription.ts"
import type { Topic } from "#domain/Topic.ts"
import type { StoreError } from "./StoreError.ts"

/** A subscription before it is stored: with its topic as it was read, and the partition of a resource that may not exist yet. */
export interface NewSubscription extends Omit<Subscription, "id" | "resourceId" | "topic" | "createdAt"> {
  readonly topic: Topic
  readonly partition: number
}

/** A subscription with what the list shows of its resource. */
export interface Listed {
  readonly subscription: Subscription
  readonly resource: ResourceState
  /** Notifications that are waiting, and that were given up. */
  readonly waiting: number
  readonly dropped: number
}

export class SubscriptionStore extends Context.Service<SubscriptionStore, {
  /**
   * Makes the resource when it is new (due now), and the subscription, or gives an existing one its new format, secret, lease, state
   * and spelling of the topic:
   * the pair (resource, endpoint) of an account and face is single.
   */
  readonly subscribe: (
    wanted: NewSubscription
  ) => Effect.Effect<
    { readonly subscription: Subscription; readonly resource: ResourceState; readonly created: boolean },
    StoreError
  >
  /** Deletes it and cancels its queued deliveries; false when there was none. */
  readonly remove: (id: number) => Effect.Effect<boolean, StoreError>
  readonly load: (id: number) => Effect.Effect<Option.Option<Subscription>, StoreError>
  /** All subscriptions of an account to a canonical topic, oldest first. */
  readonly ofTopic: (accountId: number, url: string) => Effect.Effect<ReadonlyArray<Subscription>, StoreError>
  /** All subscriptions of an account with this endpoint, oldest first, at most `limit`. */
  readonly ofEndpoint: (
    accountId: number,
    endpoint: string,
    limit: number
  ) => Effect.Effect<ReadonlyArray<Subscription>, StoreError>
  /** Oldest first; `page` counts from 1. */
  readonly list: (query: {
    readonly accountId: number
    readonly page: number
    readonly byPage: number
  }) => Effect.Effect<{ readonly items: ReadonlyArray<Listed>; readonly total: number }, StoreError>
}>()("windhover/domain/ports/SubscriptionStore") {}
