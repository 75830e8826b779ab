import { Context, type Effect, type Option } from "effect"
import type { BounceHistory } from "#domain/delivery/Bounce.ts"
import type { Labels } from "#domain/Labels.ts"
import type { ResourceProfile, ResourceState } from "#domain/poll/Resource.ts"
import type { Search } from "#domain/Search.ts"
import type { Subscription } from "#domain/Subscription.ts"
import type { Topic } from "#domain/Topic.ts"
import type { StoreError } from "./StoreError.ts"

/** An unstored subscription, with its parsed topic and the partition of its resource, which may not exist yet. */
export interface NewSubscription extends
  Omit<
    Subscription,
    "id" | "resourceId" | "topic" | "previousSecret" | "previousSecretUntil" | "failing" | "unreadable" | "createdAt"
  >
{
  /** Subscriptions that the account can have, with this one. A new one beyond it fails with `TooMany`. */
  readonly maxOfAccount?: number
  /** Time for which another, stored secret goes on signing; 0 by default. */
  readonly secretGraceSeconds?: number
  readonly topic: Topic
  readonly partition: number
  /** Period of a new resource until its first fetch, see `firstPeriod`. */
  readonly periodSeconds?: number
  /** Time of the first fetch of a new resource, epoch ms; now by default. Only for `subscribeAll`. */
  readonly firstFetchAt?: number
}

/** A subscription whose lease has expired. */
export interface ExpiredSubscription
  extends Pick<Subscription, "id" | "accountId" | "resourceId" | "topic" | "endpoint">
{
  readonly partition: number
}

/** Waiting or dropped notifications that a list counts, at most, with `counted: "items"`. */
export const maxCountedNotifications = 1_000

/** A subscription in a list, with its resource. */
export interface SubscriptionItem {
  readonly subscription: Subscription
  readonly resource: ResourceProfile
  /** Waiting and dropped notifications; only with `counted`. */
  readonly deliveries?: { readonly waiting: number; readonly dropped: number }
  /** Sequence of the last notification; only with `counted: "items"`. */
  readonly lastSequence?: number
  /** Time of the next attempt, epoch ms; only with `counted`, while a notification of an active subscription waits. */
  readonly nextTryAt?: number
  /** Time of the last logged success, epoch ms; only with `counted`. */
  readonly lastSuccessAt?: number
  /** Only with `counted`; absent without bounces. */
  readonly bounces?: BounceHistory
}

/** A subscription in a brief list, with the part of its resource that the list shows. */
export interface BriefItem {
  /** Without the secret where the secret or the headers cannot be decrypted. */
  readonly subscription: Pick<Subscription, "topic" | "endpoint" | "format" | "feedsOnly" | "secret">
  readonly resource: Pick<ResourceProfile, "kind" | "header">
}

/** A subscription after `subscribeAll`. */
export interface ImportedSubscription {
  readonly subscription: Subscription
  readonly created: boolean
  /** Labels were added, or the subscription has become active. */
  readonly changed: boolean
  /** The resource is new. */
  readonly createdResource: boolean
}

/** Where a page of an export begins: behind this subscription. */
export interface ExportPosition {
  /** The first label; absent for a subscription without labels. */
  readonly folder?: string
  readonly id: number
}

export interface BriefQuery {
  readonly accountId: number
  /** From 1. */
  readonly page: number
  readonly byPage: number
  /**
   * Filter; all subscriptions without it. An `inurl` without an exact match selects similar URLs: `word_similarity` of PostgreSQL's pg_trgm is
   * at least 0.6.
   */
  readonly search?: Search
}

export interface ListQuery extends BriefQuery {
  /** Id behind which page 1 begins. Ids ascend. */
  readonly after?: number
  /** Newest first: ids descend. */
  readonly newestFirst?: boolean
  /**
   * Counts all matches, and the notifications of each item; without it, `total` is undefined. Counting reads all matches, not only a page.
   * `items` counts the notifications of each item only, up to `maxCountedNotifications`.
   */
  readonly counted?: boolean | "items"
}

export class SubscriptionStore extends Context.Service<SubscriptionStore, {
  /**
   * Creates the subscription, and a new resource that is due now. An existing subscription gets the new format, secret, lease, state and
   * spelling of the topic, and its headers and labels if it has any (an empty list removes the stored ones); account, face, resource and
   * endpoint identify it. A pending one leaves an active, unexpired one unchanged, because
   * its callback has not confirmed the change yet.
   */
  readonly subscribe: (
    wanted: NewSubscription
  ) => Effect.Effect<
    { readonly subscription: Subscription; readonly resource: ResourceState; readonly created: boolean },
    StoreError
  >
  /**
   * Creates subscriptions of one account on the API face, all or none. The wanted ones differ in topic or endpoint.
   *
   * An existing subscription stays as it is, apart from further labels; a pending one becomes active, and a lease begins anew. New resources
   * are due at `firstFetchAt`. The results are in the order of the wanted ones.
   */
  readonly subscribeAll: (
    wanted: ReadonlyArray<NewSubscription>
  ) => Effect.Effect<ReadonlyArray<ImportedSubscription>, StoreError>
  /** Canonical topics, of the given ones, whose resource has no active subscription now, had a fetch before, and so may have old news. */
  readonly findUnwatched: (urls: ReadonlyArray<string>) => Effect.Effect<ReadonlySet<string>, StoreError>
  /**
   * Active and paused subscriptions of an account on the API face with their resources: first those without labels, then by the first label.
   * At most `limit`, behind a position.
   */
  readonly exportPage: (
    accountId: number,
    after: ExportPosition | undefined,
    limit: number
  ) => Effect.Effect<ReadonlyArray<Pick<SubscriptionItem, "subscription" | "resource">>, StoreError>
  /**
   * Replaces the secret. Another secret goes on signing for `graceMs`; the result has the end of this time, epoch ms. Undefined without
   * the subscription.
   */
  readonly rotateSecret: (
    subscription: Subscription,
    secret: string,
    graceMs: number
  ) => Effect.Effect<{ readonly previousUntil?: number } | undefined, StoreError>
  /**
   * Deletes a subscription with its queued deliveries. False for an unknown id.
   *
   * A resource that never had an active subscription goes with its last subscription. Others stay for their retention.
   */
  readonly remove: (id: number) => Effect.Effect<boolean, StoreError>
  /** The same for a subscription whose request failed: the resource that was created with this subscription goes as well, unless it has others. */
  readonly discard: (id: number) => Effect.Effect<boolean, StoreError>
  /** The same for a pending subscription only: another request may have made it active meanwhile. */
  readonly removePending: (id: number) => Effect.Effect<boolean, StoreError>
  /** Deletes expired subscriptions with their queued deliveries, at most `limit`, and returns them. */
  readonly removeExpired: (limit: number) => Effect.Effect<ReadonlyArray<ExpiredSubscription>, StoreError>
  /** Replaces the labels. False for an unknown id. */
  readonly setLabels: (id: number, labels: Labels) => Effect.Effect<boolean, StoreError>
  /** Stores the network at which a callback agreed again. */
  readonly saveNetwork: (id: number, network: string) => Effect.Effect<void, StoreError>
  /** Number of active subscriptions of the hub face with callbacks on this site; counts up to `limit`. */
  readonly countOnSite: (site: string, limit: number) => Effect.Effect<number, StoreError>
  /** The same by the network of the address at which the callbacks agreed. */
  readonly countInNetwork: (network: string, limit: number) => Effect.Effect<number, StoreError>
  /** Number of subscriptions of an account, whatever their state; counts up to `limit`. */
  readonly countOfAccount: (accountId: number, limit: number) => Effect.Effect<number, StoreError>
  /** The subscription with this account, face, topic and endpoint. */
  readonly find: (wanted: NewSubscription) => Effect.Effect<Option.Option<Subscription>, StoreError>
  readonly load: (id: number) => Effect.Effect<Option.Option<Subscription>, StoreError>
  /** All subscriptions of an account to a canonical topic, oldest first. */
  readonly findByTopic: (accountId: number, url: string) => Effect.Effect<ReadonlyArray<Subscription>, StoreError>
  /** The oldest matching subscription of each resource, oldest first, at most `limit`. Similar URLs match as in `list`. */
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
  /** The items of `list` without counts, oldest first, with a few of their fields: a quarter of the columns. */
  readonly listBriefly: (query: BriefQuery) => Effect.Effect<ReadonlyArray<BriefItem>, StoreError>
}>()("windhover/domain/ports/SubscriptionStore") {}
