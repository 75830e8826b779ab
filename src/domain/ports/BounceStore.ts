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
 * Notifications that came back, and the subscriptions that are paused for it. What is subscribed again is as new.
 *
 * Whatever makes subscriptions active takes `limit` of them at most, the oldest ones; with fewer, there are no more.
 */
export class BounceStore extends Context.Service<BounceStore, {
  /** Counts one, as `afterBounce` does, and logs it as try 0 (see `DeliveryLog`); none for a subscription that is gone, a sequence that it has not reached (made up, it would outrank every real one), and for what does not count. */
  readonly record: (bounce: Bounce) => Effect.Effect<Option.Option<BounceHistory>, StoreError>
  /** Until somebody resumes it, or to be tried at `trialAt` (epoch ms). False when it was not active. */
  readonly pause: (subscriptionId: number, trialAt: number) => Effect.Effect<boolean, StoreError>
  /** Makes paused subscriptions of a JID active, ends the trials of others, and forgets what came back from it. */
  readonly resume: (jid: string, limit: number) => Effect.Effect<ReadonlyArray<ResumedSubscription>, StoreError>
  /** The same for all JIDs of a domain, among the subscriptions of one account. */
  readonly resumeDomain: (
    accountId: number,
    domain: string,
    limit: number
  ) => Effect.Effect<ReadonlyArray<ResumedSubscription>, StoreError>
  /** Makes paused subscriptions active whose trial is due, and counts it: they have a `trial`. */
  readonly startTrials: (limit: number) => Effect.Effect<ReadonlyArray<ResumedSubscription>, StoreError>
  /** What went out on trial. Nothing for a subscription that is on trial no more. */
  readonly recordTrial: (subscriptionId: number, sent: NonNullable<Trial["sent"]>) => Effect.Effect<void, StoreError>
  /** A trial has arrived, the notification `sequence`: what came back is forgotten, unless that one did as well: then another one is tried. */
  readonly endTrial: (subscriptionId: number, sequence: number) => Effect.Effect<void, StoreError>
}>()("windhover/domain/ports/BounceStore") {}
