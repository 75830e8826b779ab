import { Context, type Effect } from "effect"
import type { Notification } from "#domain/delivery/Notification.ts"
import type { StoreError } from "./StoreError.ts"

/** A notification and its place among those of its resource. */
export interface NumberedNotification {
  /** 1, 2, 3 … of the resource, without gaps. */
  readonly sequence: number
  readonly notification: Notification
}

/**
 * What was told of resources, for those who listen instead of being called. `ResourceStore.record` writes it, numbered under the lock
 * of the resource: who has read up to a sequence finds the next one behind it, whoever wrote it and whenever it became visible.
 *
 * Entries and failures are kept for a day, documents for an hour, all of them until they are delivered. What is gone leaves a gap in
 * front of the first one that is kept.
 */
export class NotificationLog extends Context.Service<NotificationLog, {
  /** Sequence of the last notification of each resource, index by index; 0 when there was none. */
  readonly heads: (resourceIds: ReadonlyArray<number>) => Effect.Effect<ReadonlyArray<number>, StoreError>
  /** Those of a resource behind `sequence`, oldest first, at most `limit`; those who ask alike within some milliseconds share the answer. */
  readonly readAfter: (
    resourceId: number,
    sequence: number,
    limit: number
  ) => Effect.Effect<ReadonlyArray<NumberedNotification>, StoreError>
}>()("windhover/domain/ports/NotificationLog") {}
