import { Context, type Effect } from "effect"
import { siteOf } from "#domain/Topic.ts"
import type { StoreError } from "./StoreError.ts"
import type { NewSubscription } from "./SubscriptionStore.ts"

/**
 * A request to a callback: a verification of intent, to subscribe or to unsubscribe, or the denial of a subscription.
 */
export type Verification =
  & {
    /** The subscription in its state after a confirmation: active. */
    readonly subscription: NewSubscription
  }
  & (
    | { readonly mode: "subscribe"; readonly leaseSeconds: number; readonly verifyToken?: string }
    | { readonly mode: "unsubscribe"; readonly verifyToken?: string }
    | { readonly mode: "denied"; readonly reason: string }
  )

/**
 * Groups of verifications with queue limits and rate limits of their own, so that no lane uses up the limits of another lane.
 *
 * `new`: new subscriptions of the hub face. `confirmed`: confirmed subscriptions of the hub face. `api`: the API face.
 */
export type VerificationLane = "new" | "confirmed" | "api"

/** A due verification that a runner carries out. */
export interface ClaimedVerification {
  readonly id: number
  readonly verification: Verification
}

/** Maximum of waiting verifications of the hub face: per topic and callback, per site, per lane. */
const maxOfHub = { perSubscription: 10, perQuota: 100, perLane: 10_000 }

/** Maximum of waiting verifications by lane. All verifications of an account share one quota. */
export const maxWaitingVerifications: { readonly [lane in VerificationLane]: typeof maxOfHub } = {
  new: maxOfHub,
  confirmed: maxOfHub,
  api: { perSubscription: 10, perQuota: 1_000, perLane: 10_000 }
}

/** The key of a quota and its rate limit: the site of the callback within its lane, or an account. */
export const quotaKeyOf = (lane: VerificationLane, { accountId, host }: NewSubscription): string =>
  lane === "new" ? siteOf(host) : lane === "confirmed" ? `confirmed ${siteOf(host)}` : `account ${accountId}`

/** Time after which an unsettled claim expires, in ms: the runner has died, and the verification is repeated. */
export const claimTimeMs = 60_000

/**
 * Maximum delay of a verification, in ms. A later due time comes from a clock that was ahead, and counts as due. The maximum is well above
 * a minute, because the clocks of runners differ.
 */
export const maxVerificationDelayMs = 10 * 60_000

/**
 * Waiting verifications. They wait in the database, so that a restart neither loses nor hastens them. The rate limit of a site (registrable
 * domain) holds over all runners.
 *
 * Verifications of one topic and callback run one after the other, in order of arrival. No request replaces an earlier one, because any
 * client may send requests, and the callback decides about each. A repetition of the last waiting one adds no row.
 */
export class VerificationQueue extends Context.Service<VerificationQueue, {
  /** Appends a verification that is due now. */
  readonly add: (
    verification: Verification,
    lane: VerificationLane
  ) => Effect.Effect<"added" | "site-full" | "lane-full", StoreError>
  /** True while a verification of the same topic and callback waits or runs. */
  readonly contains: (wanted: NewSubscription) => Effect.Effect<boolean, StoreError>
  /** Claims due verifications of a lane for `claimTimeMs`, at most `limit`, and at most `perMinute` per quota and minute. */
  readonly claim: (bounds: {
    readonly lane: VerificationLane
    readonly limit: number
    /** Undefined for no rate limit. */
    readonly perMinute: number | undefined
  }) => Effect.Effect<ReadonlyArray<ClaimedVerification>, StoreError>
  /** Deletes a finished verification. */
  readonly settle: (claimed: ClaimedVerification) => Effect.Effect<void, StoreError>
  /** Replaces a refused subscribe by a denial, which is due now, unless a later request for the same subscription waits. */
  readonly deny: (claimed: ClaimedVerification, reason: string) => Effect.Effect<void, StoreError>
  /** Reserves an immediate verification within the rate limit of its quota. Returns 0, or the ms until the limit allows one. */
  readonly reserve: (quotaKey: string, perMinute: number) => Effect.Effect<number, StoreError>
}>()("windhover/domain/ports/VerificationQueue") {}
