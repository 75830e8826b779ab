import { Context, type Effect, type Option } from "effect"
import type { Bounce, Bounces } from "#domain/Bounce.ts"
import type { StoreError } from "./StoreError.ts"

/** A subscription that is active again. */
export interface Resumed {
  readonly id: number
  readonly resourceId: number
  readonly partition: number
}

/** Notifications that came back, and the subscriptions that are paused for it. What is subscribed again is as new. */
export class BounceStore extends Context.Service<BounceStore, {
  /** Counts one, as `afterBounce` does, and logs it as try 0 (see `DeliveryLog`); none for a subscription that is gone. */
  readonly record: (bounce: Bounce) => Effect.Effect<Option.Option<Bounces>, StoreError>
  /** False when it was not active. */
  readonly pause: (subscriptionId: number) => Effect.Effect<boolean, StoreError>
  /** Makes all paused subscriptions of a JID active, and forgets what came back from it. */
  readonly resume: (jid: string) => Effect.Effect<ReadonlyArray<Resumed>, StoreError>
  /** The same for all JIDs of a domain, among the subscriptions of one account. */
  readonly resumeDomain: (accountId: number, domain: string) => Effect.Effect<ReadonlyArray<Resumed>, StoreError>
}>()("windhover/domain/ports/BounceStore") {}
