import { Context, type Effect } from "effect"
import { siteOf } from "#domain/Topic.ts"
import type { StoreError } from "./StoreError.ts"
import type { NewSubscription } from "./SubscriptionStore.ts"

/**
 * Something that a callback is asked, or told: whether it wants to be subscribed or unsubscribed (verification of intent),
 * or that its subscription is refused.
 */
export type Verification =
  & {
    /** What it is about; active, as it will be when the callback agrees. */
    readonly subscription: NewSubscription
  }
  & (
    | { readonly mode: "subscribe"; readonly leaseSeconds: number; readonly verifyToken?: string }
    | { readonly mode: "unsubscribe"; readonly verifyToken?: string }
    | { readonly mode: "denied"; readonly reason: string }
  )

/**
 * Who may use up whose room and turns: nobody those of another lane.
 *
 * `strangers`: on the hub face, about what is not subscribed. `standing`: on the hub face, about a subscription that its callback has
 * agreed to. `accounts`: on the API.
 */
export type VerificationLane = "strangers" | "standing" | "accounts"

/** A question whose turn has come. */
export interface ClaimedVerification {
  readonly id: number
  readonly verification: Verification
}

/** Questions of the hub face that wait, at most: about one topic and callback, of one site, of a lane. */
const maxOfHub = { perSubscription: 10, perQuota: 100, perLane: 10_000 }

/** Questions that wait, at most. Those of an account share one place. */
export const maxWaitingVerifications: { readonly [lane in VerificationLane]: typeof maxOfHub } = {
  strangers: maxOfHub,
  standing: maxOfHub,
  accounts: { perSubscription: 10, perQuota: 1_000, perLane: 10_000 }
}

/** Where a question waits, and what takes turns: the site of the callback, of which lane; an account. */
export const quotaKeyOf = (lane: VerificationLane, { accountId, host }: NewSubscription): string =>
  lane === "strangers" ? siteOf(host) : lane === "standing" ? `standing ${siteOf(host)}` : `account ${accountId}`

/** A question that was claimed and is not settled after so many ms is asked again: whoever asked it has died. */
export const claimTimeMs = 60_000

/**
 * No question waits so many ms for its turn, or for whoever claimed it: one that is due later was put off by a clock that was ahead, and is due. It
 * is more than a minute, since the clocks of runners differ.
 */
export const maxTurnDelayMs = 10 * 60_000

/**
 * Questions to callbacks: they wait in the database, so that no restart loses or hastens them, and no site (registrable domain)
 * is asked more often in a minute than it may be, whichever runner asks.
 *
 * Questions about one topic and callback are asked one after the other, as they came: no request takes another one's place, for anybody may
 * send one, and the callback decides about each. One that repeats the last that waits adds nothing.
 */
export class VerificationQueue extends Context.Service<VerificationQueue, {
  /** Joins the queue, due now. */
  readonly add: (
    question: Verification,
    lane: VerificationLane
  ) => Effect.Effect<"added" | "place-full" | "full", StoreError>
  /** Whether something waits, or is being asked, about the same topic and callback. */
  readonly contains: (wanted: NewSubscription) => Effect.Effect<boolean, StoreError>
  /** Those of a lane whose turn has come, at most `limit`, of a place at most `perMinute` in a minute; each is kept from others for `claimedFor`. */
  readonly claim: (bounds: {
    readonly lane: VerificationLane
    readonly limit: number
    /** Undefined: as many as there are. */
    readonly perMinute: number | undefined
  }) => Effect.Effect<ReadonlyArray<ClaimedVerification>, StoreError>
  /** Done with. */
  readonly settle: (asked: ClaimedVerification) => Effect.Effect<void, StoreError>
  /** Settles a subscription that came to nothing: the callback is told why, in its turn, unless a later request about it waits. */
  readonly deny: (asked: ClaimedVerification, reason: string) => Effect.Effect<void, StoreError>
  /** Takes a turn for a question that cannot wait; milliseconds until there is one, 0 when it was taken. */
  readonly takeTurn: (place: string, perMinute: number) => Effect.Effect<number, StoreError>
}>()("windhover/domain/ports/VerificationQueue") {}
