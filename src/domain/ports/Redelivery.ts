import { Context, type Effect } from "effect"
import type { AttemptResult, Notification } from "#domain/delivery/Notification.ts"
import type { StoreError } from "./StoreError.ts"

/** A notification that its subscriber has not accepted. */
export interface UndeliveredNotification {
  readonly subscriptionId: number
  /** As the subscriber wrote it. */
  readonly topic: string
  /** Callback URL or bare JID. */
  readonly endpoint: string
  readonly sequence: number
  readonly notificationId: number
  /** One of several parts of a split notification. */
  readonly isPart: boolean
  readonly state: "waiting" | "dropped"
  /** Failed attempts. */
  readonly attempts: number
  /** Time of the next attempt, epoch ms; only of a waiting one. */
  readonly nextTry?: number
  /** Result of the last attempt; undefined before the first one. */
  readonly failed?: AttemptResult
  /** When the notification was recorded, epoch ms. Undefined for a deleted notification, which cannot be sent again. */
  readonly recordedAt?: number
}

/** Begin of a page: behind `sequence` of the subscription, and all subscriptions with higher ids. */
export interface UndeliveredPosition {
  readonly subscriptionId: number
  readonly sequence: number
}

export interface UndeliveredQuery {
  readonly accountId: number
  /** Only of this subscription. */
  readonly subscriptionId?: number
  readonly after?: UndeliveredPosition
  readonly limit: number
}

/** A page. It may be short, even empty: `next` alone tells whether more pages follow. */
export interface UndeliveredPage {
  readonly items: ReadonlyArray<UndeliveredNotification>
  readonly next?: UndeliveredPosition
}

/** Begin of a recovery: a sequence, or the time at which notifications were recorded (epoch ms). Both are inclusive. */
export type RecoveryStart = { readonly sequence: number } | { readonly recordedAt: number }

export interface Recovered {
  /** Partition of the subscription's resource. */
  readonly partition: number
  /** Dropped notifications that wait again. */
  readonly recovered: number
  /** Dropped notifications that are no longer stored; they stay dropped. */
  readonly lost: number
  /** False when more dropped notifications follow the recovered ones. */
  readonly isFinished: boolean
}

/** A notification with the number and the id under which its subscriber gets it. */
export interface SequencedNotification {
  readonly sequence: number
  readonly isPart: boolean
  /** With the entries of this part, if the notification was split. */
  readonly notification: Notification
}

/** Stored notifications of a subscription behind a sequence. A missing sequence is no longer stored. */
export interface SequencedPage {
  /** In order of sequence. */
  readonly items: ReadonlyArray<SequencedNotification>
  /** Sequence behind which more stored notifications follow. A page may be short, even empty: retention deletes meanwhile. */
  readonly next?: number
  /** The last sequence of the subscription; 0 before its first notification. */
  readonly lastSequence: number
}

/** Names a notification of a subscription by its sequence, or by the parts of its id. The id of a part has both. */
export interface NotificationName {
  readonly sequence?: number
  readonly notificationId?: number
}

export interface Resent {
  /** Partition of the subscription's resource. */
  readonly partition: number
  /** Sequences that wait to be sent, in order. */
  readonly sequences: ReadonlyArray<number>
  /** Named notifications that the subscription did not get, or that are no longer stored. */
  readonly missing: ReadonlyArray<NotificationName>
}

/** Notifications that were not accepted, and those that are sent once more. */
export class Redelivery extends Context.Service<Redelivery, {
  /** Waiting and dropped notifications of an account, in order of subscription and sequence. Reads a bounded number of subscriptions. */
  readonly undelivered: (query: UndeliveredQuery) => Effect.Effect<UndeliveredPage, StoreError>
  /**
   * Lets dropped notifications of a subscription wait again, the lowest sequences first and at most `limit`, in one transaction. Sequences
   * and ids stay. The next attempt of a waiting notification is due now. Undefined for a removed subscription.
   */
  readonly recover: (
    subscriptionId: number,
    since: RecoveryStart | undefined,
    limit: number
  ) => Effect.Effect<Recovered | undefined, StoreError>
  /**
   * The notifications behind `after`, delivered or not, as long as they are stored. At most `count`, and `bytes` of stored content; the first
   * one always fits.
   */
  readonly readAfter: (
    subscriptionId: number,
    after: number,
    limits: { readonly count: number; readonly bytes: number }
  ) => Effect.Effect<SequencedPage, StoreError>
  /**
   * Lets notifications of a subscription wait again, delivered ones as well, in one transaction. Sequences and ids stay, and no credit is
   * spent. Undefined for a removed subscription.
   */
  readonly resend: (
    subscriptionId: number,
    names: ReadonlyArray<NotificationName>
  ) => Effect.Effect<Resent | undefined, StoreError>
}>()("windhover/domain/ports/Redelivery") {}
