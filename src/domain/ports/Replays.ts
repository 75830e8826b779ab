import { Context, type Effect } from "effect"
import type { AttemptResult, Document } from "#domain/delivery/Notification.ts"
import type { FeedHeader } from "#domain/feed/Feed.ts"
import type { Status } from "#domain/poll/Status.ts"
import type { StoreError } from "./StoreError.ts"

/** What is told again: stored entries by their ids, in this order, or a document. */
export interface ReplayContent {
  readonly status: Omit<Status, "feed">
  readonly header?: FeedHeader
  readonly news:
    | { readonly _tag: "Entries"; readonly ids: ReadonlyArray<string> }
    | { readonly _tag: "Document"; readonly document: Document }
}

/** Where a queued delivery stands: it has left the outbox, or `failed` says how the last try went; undefined while there was none. */
export type ReplayProgress = { readonly _tag: "Gone" } | {
  readonly _tag: "Waiting"
  readonly failed: AttemptResult | undefined
}

/** What may wait, the new one included: notifications of any kind for the subscription, bytes of replayed documents for its account. */
export interface ReplayLimits {
  readonly count: number
  readonly bytes: number
}

/**
 * What came of a wish: the id of the delivery; nothing is queued for a subscription that is gone or has as many as may wait (`TooMany`),
 * nor for an account with `bytes` of documents already.
 */
export type ReplayOutcome =
  | { readonly _tag: "Queued"; readonly id: number }
  | { readonly _tag: "Gone" }
  | { readonly _tag: "TooMany" }
  | { readonly _tag: "Full"; readonly bytes: number }

/**
 * Notifications that are sent again to one subscription, because its owner asked for it. One is deleted soon after its callback has taken it,
 * and an hour after it was queued when the callback did not.
 */
export class Replays extends Context.Service<Replays, {
  /**
   * Puts a notification into the outbox of one subscription, behind what waits there: it takes a sequence and a credit like any other.
   * It has no place among the notifications of the resource, so that no stream repeats it.
   *
   * Documents that were replayed for subscriptions of its account and wait, or were dropped, count for its bytes. Whoever queues at the same time,
   * on whichever runner, is counted.
   */
  readonly enqueue: (
    subscriptionId: number,
    replayed: ReplayContent,
    bounds: ReplayLimits
  ) => Effect.Effect<ReplayOutcome, StoreError>
  readonly progress: (deliveryId: number) => Effect.Effect<ReplayProgress, StoreError>
}>()("windhover/domain/ports/Replays") {}
