import { Context, type Effect } from "effect"
import type { AttemptResult, Delivery } from "#domain/delivery/Notification.ts"
import type { DeliveryResponse } from "./Deliverer.ts"
import type { StoreError } from "./StoreError.ts"

/** What is known of every line of the log. */
export interface LoggedEvent extends AttemptResult {
  /** As the subscriber wrote it. */
  readonly topic: string
  /** Callback URL or bare JID. */
  readonly endpoint: string
  /** Epoch ms. */
  readonly triedAt: number
}

/** A try of a delivery, as it is shown. */
export interface LoggedAttempt extends LoggedEvent {
  /** `bounced`: it was taken, and came back later. */
  readonly fate: "delivered" | "failed" | "bounced" | "ended"
  readonly subscriptionId: number
  /** Of the notification, in the subscription. */
  readonly sequence: number
  /** 1: the first one. 0: of one that came back. */
  readonly attempt: number
  /** Epoch ms, of one that failed; without it this was the last try, and the delivery is dropped. */
  readonly nextTry?: number
}

/** A subscription that its callback did not agree to, after its answer: nobody else was told. */
export interface LoggedDenial extends LoggedEvent {
  readonly fate: "denied"
}

/** The last thing that is known of a subscription, which is gone or never was. */
export type SubscriptionEnd =
  & (Omit<LoggedAttempt, "triedAt" | "nextTry"> & { readonly fate: "ended" } | Omit<LoggedDenial, "triedAt">)
  & {
    readonly accountId: number
  }

/** Ends of an account that are kept, at most; those of the hub face are one account's. */
export const maxEnds = 1_000

/** Subscriptions whose success is written in a second, at most. */
export const maxSuccesses = 500

/**
 * How deliveries went; kept for a week.
 *
 * Of each subscription the latest failed tries, written by `Outbox.postpone`, `Outbox.drop` and `BounceStore.record` (one whose place a later one takes is gone:
 * see `placeInLog`), and its last success. And how subscriptions ended.
 */
export class DeliveryLog extends Context.Service<DeliveryLog, {
  /** Newest first; of everybody without an account. Subscriptions that are gone have their end only. */
  readonly list: (
    query: { readonly accountId?: number; readonly limit: number }
  ) => Effect.Effect<ReadonlyArray<LoggedAttempt | LoggedDenial>, StoreError>
  /**
   * The callback took it. Takes the place of the success before; written within a second, in bulk. Of more than `maxSuccesses` subscriptions
   * in a second the others are only counted: a log may not cost what deliveries do.
   */
  readonly recordDelivery: (delivery: Delivery, answer: DeliveryResponse) => Effect.Effect<void>
  readonly recordEnd: (end: SubscriptionEnd) => Effect.Effect<void, StoreError>
  /** Writes what `delivered` has kept. */
  readonly flush: Effect.Effect<void, StoreError>
}>()("windhover/domain/ports/DeliveryLog") {}
