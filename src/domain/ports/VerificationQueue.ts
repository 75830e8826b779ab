import { Context, type Effect } from "effect"
import type { TurnLimits } from "#domain/limits/FairTurns.ts"
import { ownerOf } from "#domain/limits/IpNetwork.ts"
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
    /** Asks a callback that agreed once more. Its answer changes nothing but the network of the subscription. */
    | { readonly mode: "reconfirm" }
    | { readonly mode: "unsubscribe"; readonly verifyToken?: string }
    | { readonly mode: "denied"; readonly reason: string }
  )

/**
 * Groups of verifications with queue limits and rate limits of their own, so that no lane uses up the limits of another lane.
 *
 * `new`: new subscriptions of the hub face. `confirmed`: confirmed subscriptions of the hub face. `api`: the API face.
 */
export type VerificationLane = "new" | "confirmed" | "api"

/** The client that caused a verification, and the network of the callback, as keys of limits. */
export interface VerificationOrigin {
  /** Address of the client, or its account. */
  readonly asker: string
  /** Network of the client, or its account. */
  readonly network: string
  /** Network that the callback's name resolves to at the request. */
  readonly target: string
}

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

/**
 * Shares of the free room in a lane that one address and one network may fill.
 *
 * The room shrinks with the number of busy networks, and always leaves a rest for the next one.
 */
const freeShares = { asker: 1 / 4, network: 1 / 2 }

/** Whether an address and its network have their share of a lane already. */
export const isShareFull = (
  lane: VerificationLane,
  waiting: { readonly lane: number; readonly network: number; readonly asker: number }
): boolean => {
  const free = maxWaitingVerifications[lane].perLane - waiting.lane
  return waiting.asker >= free * freeShares.asker || waiting.network >= free * freeShares.network
}

/** Maximum of verifications in flight over all runners, for one network of clients and for one network of callbacks. */
const maxInFlight = { maxPerNetwork: 32, maxPerTarget: 10 }

/** Limits of a claim by lane. An account is trusted, so that its verifications keep their order and share its lane alone. */
export const turnLimitsOf = (lane: VerificationLane): Pick<TurnLimits, "maxPerNetwork" | "maxPerTarget" | "ends"> =>
  lane === "api" ? { maxPerNetwork: 32, maxPerTarget: 32, ends: "oldest" } : { ...maxInFlight, ends: "both" }

/** The key of a quota and its rate limit: the owner of the callback's host within its lane, or an account. */
export const quotaKeyOf = (lane: VerificationLane, { accountId, host }: NewSubscription): string =>
  lane === "new" ? ownerOf(host) : lane === "confirmed" ? `confirmed ${ownerOf(host)}` : `account ${accountId}`

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
    lane: VerificationLane,
    origin: VerificationOrigin
  ) => Effect.Effect<"added" | "site-full" | "asker-full" | "lane-full", StoreError>
  /** True while a verification of the same topic and callback waits or runs. */
  readonly contains: (wanted: NewSubscription) => Effect.Effect<boolean, StoreError>
  /**
   * Claims due verifications of a lane for `claimTimeMs`, at most `limit`, and at most `perMinute` per quota and minute.
   * Networks of clients take fair turns, see `FairTurns`.
   */
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
  /** Reserves an immediate verification within the rate limits of its site and target. Returns 0, or the ms until the limits allow one. */
  readonly reserve: (
    quota: { readonly site: string; readonly target: string },
    perMinute: number
  ) => Effect.Effect<number, StoreError>
}>()("windhover/domain/ports/VerificationQueue") {}
