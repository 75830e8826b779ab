import { Context, type Effect } from "effect"
import type { Caller } from "#domain/Account.ts"
import type { Refusal } from "#domain/Refusal.ts"
import type { SubscriptionName } from "./FindSubscription.ts"

export interface RotateSecretRequest extends SubscriptionName {
  readonly caller: Caller
  /** The new secret, unchecked. */
  readonly secret: string
  /** Time for which the old secret signs beside the new one. */
  readonly graceSeconds: number
}

export interface RotatedSecret {
  readonly subscription: number
  /** End of the rotation, epoch ms; undefined when nothing but the new secret signs. */
  readonly previousUntil?: number
}

/** Secrets of subscriptions. Each operation sees the subscriptions of the caller's account alone. The faces check rights. */
export class Secrets extends Context.Service<Secrets, {
  /** Replaces the secret of a subscription by a callback. */
  readonly rotate: (request: RotateSecretRequest) => Effect.Effect<RotatedSecret, Refusal>
}>()("windhover/actors/operations/Secrets") {}
