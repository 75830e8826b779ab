import { Context, type Effect } from "effect"
import type { Caller } from "#domain/Account.ts"
import type { DeliveryPage, DeliveryQuery, LoggedAttempt, LoggedDenial } from "#domain/delivery/DeliveryLogEntry.ts"
import type { Refusal } from "#domain/Refusal.ts"
import type { Subscription } from "#domain/Subscription.ts"
import type { SubscriptionName } from "./FindSubscription.ts"

/** Selects events of the delivery log. */
export interface DeliveriesRequest extends Omit<DeliveryQuery, "accountId" | "topic"> {
  readonly caller: Caller
  /** The events of all accounts. The face checks the right. */
  readonly ofAll?: boolean
  /** URL as the subscriber wrote it, or its canonical form. */
  readonly topic?: string
}

/** The request of an attempt, rendered again from the stored notification. */
export interface SentRequest {
  /** Signatures, credentials and headers of the subscriber have the value `***`. */
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>
  readonly body: Uint8Array
}

export interface DeliveryReport {
  readonly event: LoggedAttempt | LoggedDenial
  /** Absent for other channels than webhooks, and after the notification or the subscription was deleted. */
  readonly request?: SentRequest
}

/**
 * The delivery log for the owner of the subscriptions, and for the operator.
 *
 * The event of another account is refused as an unknown one.
 */
export class DeliveryReports extends Context.Service<DeliveryReports, {
  readonly list: (request: DeliveriesRequest) => Effect.Effect<DeliveryPage, Refusal>
  readonly show: (
    request: { readonly caller: Caller; readonly ofAll?: boolean; readonly id: string }
  ) => Effect.Effect<DeliveryReport, Refusal>
  /** Records all attempts of a subscription for some minutes. Returns the end of the recording, epoch ms. */
  readonly record: (
    request: SubscriptionName & { readonly caller: Caller; readonly minutes: number }
  ) => Effect.Effect<{ readonly subscription: Subscription; readonly until: number }, Refusal>
}>()("windhover/actors/operations/DeliveryReports") {}
