import { Context, type Effect, type Option } from "effect"
import type { Bounce, BounceHistory, Trial } from "#domain/delivery/Bounce.ts"
import type { StoreError } from "./StoreError.ts"

/** A subscription that is active again. */
export interface ResumedSubscription {
  readonly id: number
  readonly resourceId: number
  readonly partition: number
}

/**
 * Bounces, and the subscriptions that they pause. A renewed subscription starts without bounces.
 *
 * Methods that resume subscriptions take at most `limit`, the oldest first. A shorter result is the last one.
 */
export class BounceStore extends Context.Service<BounceStore, {
  /**
   * Counts a bounce by `addBounce`, and logs it as attempt 0 (see `DeliveryLog`). None for a removed subscription, an uncounted bounce,
   * and a sequence that the subscription has not reached: a forged one would outrank every real one.
   */
  readonly record: (bounce: Bounce) => Effect.Effect<Option.Option<BounceHistory>, StoreError>
  /** Pauses until a resume, or until the trial at `trialAt` (epoch ms). False when the subscription was not active. */
  readonly pause: (subscriptionId: number, trialAt: number) => Effect.Effect<boolean, StoreError>
  /** Resumes the paused subscriptions of a JID, ends the trials of its active ones, and forgets its bounces. */
  readonly resume: (jid: string, limit: number) => Effect.Effect<ReadonlyArray<ResumedSubscription>, StoreError>
  /** The same for all JIDs of a domain, among the subscriptions of one account. */
  readonly resumeDomain: (
    accountId: number,
    domain: string,
    limit: number
  ) => Effect.Effect<ReadonlyArray<ResumedSubscription>, StoreError>
  /** Resumes paused subscriptions with a due trial, and counts the trial. */
  readonly startTrials: (limit: number) => Effect.Effect<ReadonlyArray<ResumedSubscription>, StoreError>
  /** Records the notification on trial. No effect after the end of the trial. */
  readonly recordTrial: (subscriptionId: number, sent: NonNullable<Trial["sent"]>) => Effect.Effect<void, StoreError>
  /** Ends a trial whose notification `sequence` has arrived, and forgets the bounces. After a bounce of this notification, another trial follows. */
  readonly endTrial: (subscriptionId: number, sequence: number) => Effect.Effect<void, StoreError>
}>()("windhover/domain/ports/BounceStore") {}
