import { Context, type Effect } from "effect"
import type { Failing } from "#domain/delivery/Retry.ts"
import type { ResumedSubscription } from "./BounceStore.ts"
import type { StoreError } from "./StoreError.ts"

/** Subscriptions whose attempts fail, and subscriptions that are paused. `BounceStore` has the bounces of JIDs. */
export class SubscriptionHealth extends Context.Service<SubscriptionHealth, {
  /** Stores the failing of a subscription; undefined after a success. One narrow update, batched over actors. */
  readonly saveFailing: (subscriptionId: number, failing: Failing | undefined) => Effect.Effect<void, StoreError>
  /**
   * Pauses an active subscription until a resume. The notifications of a paused webhook are recorded as dropped, so that a recovery sends
   * them. False when the subscription was not active.
   */
  readonly pause: (subscriptionId: number) => Effect.Effect<boolean, StoreError>
  /**
   * Resumes a paused or failing subscription: its failing begins anew, its bounces are forgotten, and its waiting deliveries are due.
   * Undefined for a pending or unknown subscription.
   */
  readonly resume: (subscriptionId: number) => Effect.Effect<ResumedSubscription | undefined, StoreError>
}>()("windhover/domain/ports/SubscriptionHealth") {}
