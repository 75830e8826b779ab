import { Context, type Effect } from "effect"
import type { Notification } from "#domain/delivery/Notification.ts"
import type { StoreError } from "./StoreError.ts"

/** Bytes after which a read ends: a listener may be behind by hundreds of large documents. */
export const maxReadBytes = 4 * 1024 * 1024

/** A notification with its sequence in the resource. */
export interface NumberedNotification {
  /** 1, 2, 3 … of the resource, without gaps. */
  readonly sequence: number
  readonly notification: Notification
  /** The read ended here because of its bytes. Further notifications may follow. */
  readonly isCut?: true
}

/**
 * Notifications of resources, for streams and long polls. `ResourceStore.record` numbers them under the lock of the resource, so that
 * a reader of a sequence finds the next one behind it, whichever runner has written it.
 *
 * Entries and failures are kept for a day, documents for an hour, and undelivered notifications until their delivery. Deleted ones leave
 * a gap in front of the first stored one.
 */
export class NotificationLog extends Context.Service<NotificationLog, {
  /** Sequence of the last notification of each resource, index by index; 0 without one. */
  readonly heads: (resourceIds: ReadonlyArray<number>) => Effect.Effect<ReadonlyArray<number>, StoreError>
  /**
   * Notifications behind `sequence`, oldest first: at most `limit`, and none after `maxReadBytes`. Equal reads within some milliseconds share
   * one query.
   */
  readonly readAfter: (
    resourceId: number,
    sequence: number,
    limit: number
  ) => Effect.Effect<ReadonlyArray<NumberedNotification>, StoreError>
}>()("windhover/domain/ports/NotificationLog") {}
