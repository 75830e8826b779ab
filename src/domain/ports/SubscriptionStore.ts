import { Context, type Effect, type Option } from "effect"
import type { BounceHistory } from "#domain/delivery/Bounce.ts"
import type { ResourceProfile, ResourceState } from "#domain/poll/Resource.ts"
import type { Search } from "#domain/Search.ts"
import type { Subscription } from "#domain/Subscription.ts"
import type { Topic } from "#domain/Topic.ts"
import type { StoreError } from "./StoreError.ts"

/** A subscription before it is stored: with its topic as it was read, and the partition of a resource that may not exist yet. */
export interface NewSubscription extends Omit<Subscription, "id" | "resourceId" | "topic" | "createdAt"> {
  readonly topic: Topic
  readonly partition: number
}

/** A subscription with what the list shows of its resource. */
export interface SubscriptionItem {
  readonly subscription: Subscription
  readonly resource: ResourceProfile
  /** Notifications that are waiting, and that were given up; where they were counted. */
  readonly deliveries?: { readonly waiting: number; readonly dropped: number }
  /** Where they were counted; absent when nothing came back. */
  readonly bounces?: BounceHistory
}

export interface ListQuery {
  readonly accountId: number
  /** From 1. */
  readonly page: number
  readonly byPage: number
  /**
   * What is wanted; everything without it. Where `inurl` is asked for and no subscription fits, those fit instead whose URL is similar:
   * a piece of it shares three fifths of the trigrams of both, as `word_similarity` of PostgreSQL's pg_trgm counts them.
   */
  readonly search?: Search
  /**
   * Whether to count all that fit, and the notifications of each one on the page; otherwise `total` is undefined. Counting reads them all,
   * where a page reads a page.
   */
  readonly counted?: boolean
}

export class SubscriptionStore extends Context.Service<SubscriptionStore, {
  /**
   * Makes the resource when it is new (due now), and the subscription, or gives an existing one its new format, secret, lease, state
   * and spelling of the topic:
   * the pair (resource, endpoint) of an account and face is single. A pending one changes nothing of an active one whose lease has not ended: its callback
   * has agreed to that, and to nothing else yet.
   */
  readonly subscribe: (
    wanted: NewSubscription
  ) => Effect.Effect<
    { readonly subscription: Subscription; readonly resource: ResourceState; readonly created: boolean },
    StoreError
  >
  /** Deletes it and cancels its queued deliveries; false when there was none. */
  readonly remove: (id: number) => Effect.Effect<boolean, StoreError>
  /** The same, if it is still pending: another request may have made it active meanwhile. */
  readonly removePending: (id: number) => Effect.Effect<boolean, StoreError>
  /** Deletes subscriptions whose lease has ended with their queued deliveries, at most `limit`, and gives them. */
  readonly removeExpired: (
    limit: number
  ) => Effect.Effect<
    ReadonlyArray<{ readonly id: number; readonly resourceId: number; readonly partition: number }>,
    StoreError
  >
  /** Active subscriptions of the hub face whose callbacks are on this site; counts up to `limit`. */
  readonly countOnSite: (site: string, limit: number) => Effect.Effect<number, StoreError>
  /** The one of this account, face, topic and endpoint. */
  readonly find: (wanted: NewSubscription) => Effect.Effect<Option.Option<Subscription>, StoreError>
  readonly load: (id: number) => Effect.Effect<Option.Option<Subscription>, StoreError>
  /** All subscriptions of an account to a canonical topic, oldest first. */
  readonly findByTopic: (accountId: number, url: string) => Effect.Effect<ReadonlyArray<Subscription>, StoreError>
  /** Of the subscriptions that fit, the oldest one of each resource; oldest first, at most `limit`. Similar URLs are taken as in `list`. */
  readonly feeds: (
    accountId: number,
    search: Search,
    limit: number
  ) => Effect.Effect<ReadonlyArray<Subscription>, StoreError>
  /** Oldest first. */
  readonly list: (
    query: ListQuery
  ) => Effect.Effect<
    { readonly items: ReadonlyArray<SubscriptionItem>; readonly total: number | undefined },
    StoreError
  >
}>()("windhover/domain/ports/SubscriptionStore") {}
