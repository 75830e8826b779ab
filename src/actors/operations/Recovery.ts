import { Context, type Effect } from "effect"
import type { Caller } from "#domain/Account.ts"
import type { Rendered } from "#domain/delivery/Delivery.ts"
import type { Recovered, RecoveryStart, UndeliveredPage, UndeliveredPosition } from "#domain/ports/Redelivery.ts"
import type { Refusal } from "#domain/Refusal.ts"
import type { AttemptResult } from "#domain/delivery/Notification.ts"
import type { Format, Subscription } from "#domain/Subscription.ts"
import type { SubscriptionName } from "./FindSubscription.ts"

export interface UndeliveredRequest extends SubscriptionName {
  readonly caller: Caller
  readonly after?: UndeliveredPosition
  /** 1 to 100. */
  readonly limit: number
}

export interface RecoverRequest extends SubscriptionName {
  readonly caller: Caller
  /** Default: from the first dropped notification on. */
  readonly since?: RecoveryStart
}

export interface ReadNotificationsRequest extends SubscriptionName {
  readonly caller: Caller
  readonly after: number
  /** 1 to 100. */
  readonly limit: number
}

/** Notifications of a subscription behind a sequence. A missing sequence is no longer stored. */
export interface NotificationPage {
  readonly subscription: Subscription
  readonly notifications: ReadonlyArray<
    Rendered & { readonly sequence: number; readonly id: string; readonly createdAt: number }
  >
  /** Sequence behind which more notifications follow; absent on the last page. */
  readonly next?: number
  /** The last sequence of the subscription; 0 before its first notification. */
  readonly lastSequence: number
}

/** Names notifications by sequence, or by the id that their subscriber got. The ids name the subscription too. */
export interface ResendRequest extends SubscriptionName {
  readonly caller: Caller
  readonly sequences?: ReadonlyArray<number>
  readonly ids?: ReadonlyArray<string>
}

/** The receiver of a test: the callback of a subscription, or a callback with its own secret, format and topic. */
export interface TestRequest {
  readonly caller: Caller
  readonly subscription?: number
  readonly callback?: string
  readonly secret?: string
  readonly format?: Format
  /** A topic of the caller, whose newest content is sent. Without a topic, a sample is sent. */
  readonly topic?: string
}

export interface TestOutcome {
  /** The `X-Windhover-Notification-Id` of the test. */
  readonly id: string
  readonly callback: string
  readonly topic: string
  /** Without a reason, the callback has accepted the test. */
  readonly attempt: AttemptResult
}

export interface ResendOutcome {
  readonly subscription: Subscription
  /** Sequences that wait to be sent, in order. */
  readonly sequences: ReadonlyArray<number>
  /** Sequences and ids that the subscription did not get, or that are no longer stored. */
  readonly missing: ReadonlyArray<number | string>
}

/**
 * Notifications that were not delivered, and their delivery on request.
 *
 * Each operation sees the subscriptions of the caller's account alone. The faces check rights.
 */
export class Recovery extends Context.Service<Recovery, {
  /** Of all subscriptions of the caller without a name. */
  readonly undelivered: (request: UndeliveredRequest) => Effect.Effect<UndeliveredPage, Refusal>
  /** Sends exactly the dropped notifications of a subscription, in order, before all later ones. A paused subscription gets them after its resume. */
  readonly recover: (
    request: RecoverRequest
  ) => Effect.Effect<Recovered & { readonly subscription: Subscription }, Refusal>
  /** Delivered or not, as long as they are stored, and rendered as they are sent. */
  readonly readNotifications: (request: ReadNotificationsRequest) => Effect.Effect<NotificationPage, Refusal>
  /** Sends one marked notification, with one attempt and no sequence or credit, and returns the answer of the callback. */
  readonly sendTest: (request: TestRequest) => Effect.Effect<TestOutcome, Refusal>
  /** Sends single notifications once more, with the same sequences and ids. Refuses beyond a rate per account. */
  readonly resend: (request: ResendRequest) => Effect.Effect<ResendOutcome, Refusal>
}>()("windhover/actors/operations/Recovery") {}
