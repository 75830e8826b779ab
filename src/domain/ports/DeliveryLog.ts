import { Context, type Effect } from "effect"
import type { AttemptResult, Delivery } from "#domain/delivery/Notification.ts"
import type { DeliveryResponse } from "./Deliverer.ts"
import type { StoreError } from "./StoreError.ts"

/** Fields of every log line. */
export interface LoggedEvent extends AttemptResult {
  /** As the subscriber wrote it. */
  readonly topic: string
  /** Callback URL or bare JID. */
  readonly endpoint: string
  /** Epoch ms. */
  readonly triedAt: number
}

/** One attempt of a delivery. */
export interface LoggedAttempt extends LoggedEvent {
  /** `bounced`: accepted, and returned later. */
  readonly outcome: "delivered" | "failed" | "bounced" | "ended"
  readonly subscriptionId: number
  /** Of the notification, in the subscription. */
  readonly sequence: number
  /** Number of the attempt from 1; 0 for a bounce. */
  readonly attempt: number
  /** Time of the next attempt after a failed one, epoch ms. Undefined after the last attempt: the delivery is dropped. */
  readonly nextTry?: number
}

/** A subscription whose callback did not confirm it after the response. The log is the only place that shows the denial. */
export interface LoggedDenial extends LoggedEvent {
  readonly outcome: "denied"
}

/** The end of a subscription, or its denial. */
export type SubscriptionEnd =
  & (Omit<LoggedAttempt, "triedAt" | "nextTry"> & { readonly outcome: "ended" } | Omit<LoggedDenial, "triedAt">)
  & {
    readonly accountId: number
  }

/** Maximum of stored ends per account. The hub face counts as one account. */
export const maxEnds = 1_000

/** Maximum of subscriptions whose success is written per second. */
export const maxSuccesses = 500

/**
 * The log of deliveries; kept for a week.
 *
 * Holds the latest failed attempts and the last success of each subscription, and the ends of subscriptions. `Outbox.postpone`,
 * `Outbox.drop` and `BounceStore.record` write the failed attempts. A later attempt takes the slot of an earlier one, see `logSlotOf`.
 */
export class DeliveryLog extends Context.Service<DeliveryLog, {
  /** Newest first; of all accounts without `accountId`. A removed subscription has only its end. */
  readonly list: (
    query: { readonly accountId?: number; readonly limit: number }
  ) => Effect.Effect<ReadonlyArray<LoggedAttempt | LoggedDenial>, StoreError>
  /**
   * Replaces the last success of the subscription; written in bulk within a second. Beyond `maxSuccesses` subscriptions per second, successes
   * are only counted, so that the log stays cheaper than the deliveries.
   */
  readonly recordDelivery: (delivery: Delivery, answer: DeliveryResponse) => Effect.Effect<void>
  readonly recordEnd: (end: SubscriptionEnd) => Effect.Effect<void, StoreError>
  /** Writes the buffered successes. */
  readonly flush: Effect.Effect<void, StoreError>
}>()("windhover/domain/ports/DeliveryLog") {}
