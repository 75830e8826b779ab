import { Context, type Effect, type Option } from "effect"
import type { Attempt, Document } from "#domain/Notification.ts"
import type { FeedHeader } from "#domain/Feed.ts"
import type { Status } from "#domain/Status.ts"
import type { StoreError } from "./StoreError.ts"

/** What is told again: stored entries by their ids, in this order, or a document. */
export interface Replayed {
  readonly status: Omit<Status, "feed">
  readonly header?: FeedHeader
  readonly news:
    | { readonly _tag: "Entries"; readonly ids: ReadonlyArray<string> }
    | { readonly _tag: "Document"; readonly document: Document }
}

/** Where a queued delivery stands: it has left the outbox, or `failed` says how the last try went; undefined while there was none. */
export type Progress = { readonly _tag: "Gone" } | { readonly _tag: "Waiting"; readonly failed: Attempt | undefined }

/** Bytes of documents of an account that wait to be told again, at most. */
export const maxReplayedBytes = 64 << 20

/**
 * Notifications that are sent again to one subscription, because its owner asked for it. One is deleted soon after its callback has taken it,
 * and an hour after it was queued when the callback did not.
 */
export class Replays extends Context.Service<Replays, {
  /**
   * Puts a notification into the outbox of one subscription, behind what waits there: it takes a sequence and a credit like any other.
   * It has no place among the notifications of the resource, so that no stream repeats it. Returns the id of the delivery; none when
   * the subscription is gone.
   */
  readonly queue: (subscriptionId: number, replayed: Replayed) => Effect.Effect<Option.Option<number>, StoreError>
  /** Bytes of documents that wait for subscriptions of this account, or were dropped. */
  readonly bytes: (accountId: number) => Effect.Effect<number, StoreError>
  readonly progress: (deliveryId: number) => Effect.Effect<Progress, StoreError>
}>()("windhover/domain/ports/Replays") {}
