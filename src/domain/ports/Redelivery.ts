import { Context, type Effect } from "effect"
import type { AttemptResult } from "#domain/delivery/Notification.ts"
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

/** Notifications that were not accepted, and those that are sent once more. */
export class Redelivery extends Context.Service<Redelivery, {
  /** Waiting and dropped notifications of an account, in order of subscription and sequence. Reads a bounded number of subscriptions. */
  readonly undelivered: (query: UndeliveredQuery) => Effect.Effect<UndeliveredPage, StoreError>
}>()("windhover/domain/ports/Redelivery") {}
