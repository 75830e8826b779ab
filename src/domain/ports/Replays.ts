import { Context, type Effect } from "effect"
import type { AttemptResult, Document } from "#domain/delivery/Notification.ts"
import type { FeedHeader } from "#domain/feed/Feed.ts"
import type { Status } from "#domain/poll/Status.ts"
import type { StoreError } from "./StoreError.ts"

/** Content of a replay: stored entries by id, in this order, or a document. */
export interface ReplayContent {
  readonly status: Omit<Status, "feed">
  readonly header?: FeedHeader
  readonly news:
    | { readonly _tag: "Entries"; readonly ids: ReadonlyArray<string> }
    | { readonly _tag: "Document"; readonly document: Document }
}

/** Progress of a queued delivery. `Gone`: it has left the outbox. `failed` is the result of the last attempt; undefined before the first one. */
export type ReplayProgress = { readonly _tag: "Gone" } | {
  readonly _tag: "Waiting"
  readonly failed: AttemptResult | undefined
}

/** Limits of waiting replays, the new one included: notifications for the subscription, and bytes of replayed documents for its account. */
export interface ReplayLimits {
  readonly count: number
  readonly bytes: number
}

/**
 * Result of `enqueue`: the id of the delivery, or the reason of its absence. `Gone`: the subscription was removed. `TooMany`: the
 * subscription is at its limit. `Full`: the account has `bytes` of waiting documents.
 */
export type ReplayOutcome =
  | { readonly _tag: "Queued"; readonly id: number }
  | { readonly _tag: "Gone" }
  | { readonly _tag: "TooMany" }
  | { readonly _tag: "Full"; readonly bytes: number }

/**
 * Notifications that a subscriber has requested again. An accepted replay is deleted soon after its delivery, any other one after an hour.
 */
export class Replays extends Context.Service<Replays, {
  /**
   * Appends a notification to the outbox of one subscription. It takes a sequence and a credit like every notification. It has no sequence
   * in the resource, so that no stream repeats it.
   *
   * Waiting and dropped replays of the account count for its bytes, concurrent ones of other runners included.
   */
  readonly enqueue: (
    subscriptionId: number,
    replayed: ReplayContent,
    bounds: ReplayLimits
  ) => Effect.Effect<ReplayOutcome, StoreError>
  readonly progress: (deliveryId: number) => Effect.Effect<ReplayProgress, StoreError>
}>()("windhover/domain/ports/Replays") {}
