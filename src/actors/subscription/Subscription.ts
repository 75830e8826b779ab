import { Context, type Effect } from "effect"
import type { Trial } from "#domain/delivery/Bounce.ts"
import { documentBytes } from "#domain/delivery/Delivery.ts"
import type { AttemptResult, Delivery } from "#domain/delivery/Notification.ts"
import type { Failing, RetrySchedule } from "#domain/delivery/Retry.ts"
import type { Subscription } from "#domain/Subscription.ts"
import type { CallbackRecord } from "#actors/limits/DeliveryLimiter.ts"
import type { ShardLease } from "#actors/runtime/ShardLease.ts"
import type { Self } from "#actors/runtime/Actor.ts"
import type { PlannedDelivery } from "./DeliveryRetry.ts"
import { type DeliveryWindow, hasRoom } from "./DeliveryWindow.ts"

/**
 * `Deliver`: a new row of the outbox. `CheckOutbox`: the outbox may have unannounced rows (an alarm, a new owner, a sweep).
 * `Reload`: the subscription itself has changed.
 */
export type Message =
  | { readonly _tag: "Deliver"; readonly delivery: Delivery }
  | { readonly _tag: "CheckOutbox" }
  | { readonly _tag: "Reload" }

export const checkOutbox: Message = { _tag: "CheckOutbox" }

/** The memory of an awake subscription. */
export interface State {
  readonly subscription: Subscription
  readonly retry: RetrySchedule
  readonly window: DeliveryWindow
  readonly callback: CallbackRecord
  /** Of the slots for large documents, whose times include the reading of the document. */
  readonly largeCallback: CallbackRecord
  /** Notifications in a row that were dropped because the callback hangs. */
  hungNotifications: number
  /** End of the pause of a hanging callback, epoch ms. */
  pausedUntil?: number | undefined
  /** Undefined while the last attempt has succeeded. */
  failing?: Failing | undefined
  /** The last failed attempt of this owner. */
  lastFailure?: AttemptResult
  /** The row of the subscription has changed, so that the actor loads it again. */
  isOutdated?: true
  /** The notification on trial; no other one is sent until its arrival is known. */
  trial?: Trial["sent"]
  /** End of the last attempt, epoch ms; undefined before the first one. */
  lastAttemptAt?: number
  /** Bytes of the large document of the first delivery, which the actor reads when it has a slot to send it. */
  largeBytes?: number | undefined
  /** The next attempt of the first delivery, which is not in memory while it waits. */
  nextAttempt?: PlannedDelivery | undefined
  /** End of an outage, epoch ms, until the outbox records this time: all waits then begin anew at the end of the outage. */
  outageEndedAt?: number | undefined
}

/** Documents with more bytes are in memory only while they are sent. */
const largeBytes = 256 << 10

export const isLarge = ({ notification }: Delivery): boolean => documentBytes(notification) > largeBytes

/** Bounds the mailbox: deliveries beyond the limits of the window are dropped, and found again in the outbox. */
export const join = (waiting: Array<Message>, message: Message): void => {
  // Nearly every delivery finds an empty mailbox.
  if (waiting.length === 0 && (message._tag !== "Deliver" || !isLarge(message.delivery))) {
    waiting.push(message)
    return
  }
  if (message._tag === "Deliver") {
    const deliveries = waiting.flatMap((one) => one._tag === "Deliver" ? [one.delivery] : [])
    if (isLarge(message.delivery) || !hasRoom(deliveries, message.delivery)) message = checkOutbox
  }
  if (message._tag === "Deliver" || !waiting.some(({ _tag }) => _tag === message._tag)) waiting.push(message)
}

/** The part of its partition that a subscription uses. */
export interface SubscriptionContext {
  readonly lease: ShardLease
  /** Tells a resource that a subscription has ended. */
  readonly reloadResource: (id: number) => Effect.Effect<void>
}

export class SubscriptionBehavior extends Context.Service<SubscriptionBehavior, {
  /** Sends the waiting deliveries in order, one at a time, while the lease is held. Returns the time of the next attempt (epoch ms). */
  readonly run: (self: Self<State, Message>, context: SubscriptionContext) => Effect.Effect<number | undefined>
}>()("windhover/actors/subscription/Subscription/SubscriptionBehavior") {}
