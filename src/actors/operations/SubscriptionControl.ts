import { Context, type Effect } from "effect"
import type { Caller } from "#domain/Account.ts"
import type { Refusal } from "#domain/Refusal.ts"
import type { Subscription } from "#domain/Subscription.ts"
import type { SubscriptionName } from "./FindSubscription.ts"

export interface ControlRequest extends SubscriptionName {
  readonly caller: Caller
}

export interface LabelRequest extends ControlRequest {
  /** As received, unchecked. */
  readonly labels: ReadonlyArray<string>
}

/**
 * Pause, resume and labels of the caller's subscriptions. All return the subscription as it is afterwards, and may be repeated.
 *
 *   active ── pause, or a callback that fails for 5 days ──► paused: notifications are recorded as dropped, and nothing is sent
 *      ▲                                                        │
 *      └──────────── resume, or subscribed again ───────────────┘
 */
export class SubscriptionControl extends Context.Service<SubscriptionControl, {
  /** Pauses a webhook. */
  readonly pause: (request: ControlRequest) => Effect.Effect<Subscription, Refusal>
  /** Resumes a webhook or JID: its waiting notifications are tried at once. A recovery sends the dropped ones. */
  readonly resume: (request: ControlRequest) => Effect.Effect<Subscription, Refusal>
  /** Replaces the labels. */
  readonly setLabels: (request: LabelRequest) => Effect.Effect<Subscription, Refusal>
}>()("windhover/actors/operations/SubscriptionControl") {}
