import { Context, type Effect } from "effect"
import type { Caller } from "#domain/Account.ts"
import type { Recovered, RecoveryStart, UndeliveredPage, UndeliveredPosition } from "#domain/ports/Redelivery.ts"
import type { Refusal } from "#domain/Refusal.ts"
import type { Subscription } from "#domain/Subscription.ts"
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
}>()("windhover/actors/operations/Recovery") {}
