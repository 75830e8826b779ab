import { Context, type Effect } from "effect"
import type { StoreError } from "./StoreError.ts"
import type { NewSubscription } from "./SubscriptionStore.ts"

/**
 * Something that a callback is asked, or told: whether it wants to be subscribed or unsubscribed (verification of intent),
 * or that its subscription is refused.
 */
export type Question =
  & {
    /** What it is about; active, as it will be when the callback agrees. */
    readonly wanted: NewSubscription
  }
  & (
    | { readonly mode: "subscribe"; readonly leaseSeconds: number; readonly verifyToken?: string }
    | { readonly mode: "unsubscribe"; readonly verifyToken?: string }
    | { readonly mode: "denied"; readonly reason: string }
  )

/** A question whose turn has come. */
export interface Asked {
  readonly id: number
  /** Tells whether a later request has taken its place meanwhile. */
  readonly revision: number
  readonly question: Question
}

/** Questions that wait, at most: of one site, and of all. */
export const maxWaiting = { site: 100, total: 10_000 }

/** A question that was claimed and is not settled after so many ms is asked again: whoever asked it has died. */
export const claimedFor = 60_000

/**
 * Questions to callbacks of the hub face, whose addresses strangers wrote: they wait in the database, so that no restart loses or hastens them,
 * and no site (registrable domain) is asked more often in a minute than it may be, whichever runner asks.
 */
export class QuestionQueue extends Context.Service<QuestionQueue, {
  /**
   * Joins the queue, due now. The last request counts: it takes the place of one that waits for the same topic and callback,
   * and one that is being asked is followed by it.
   */
  readonly add: (question: Question) => Effect.Effect<"added" | "site-full" | "full", StoreError>
  /** Whether something waits, or is being asked, about the same topic and callback. */
  readonly holds: (wanted: NewSubscription) => Effect.Effect<boolean, StoreError>
  /** Those whose turn has come, at most `limit`, of a site at most `perMinute` in a minute; each is kept from others for `claimedFor`. */
  readonly claim: (bounds: {
    readonly limit: number
    readonly perMinute: number
  }) => Effect.Effect<ReadonlyArray<Asked>, StoreError>
  /** Done with. What took its place meanwhile is due at once. */
  readonly settle: (asked: Asked) => Effect.Effect<void, StoreError>
  /** Settles a subscription that came to nothing: the callback is told why, in its turn, unless a later request has taken the place. */
  readonly deny: (asked: Asked, reason: string) => Effect.Effect<void, StoreError>
  /** Takes a turn for a question that cannot wait; milliseconds until there is one, 0 when it was taken. */
  readonly turn: (site: string, perMinute: number) => Effect.Effect<number, StoreError>
}>()("windhover/domain/ports/QuestionQueue") {}
