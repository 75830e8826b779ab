import type { Subscription } from "#domain/Subscription.ts"

/** Leases on the WebSub face in seconds: the default, and the bounds of a requested lease. */
const defaultLeaseSeconds = 864_000
const minLeaseSeconds = 86_400
const maxLeaseSeconds = 90 * 86_400

/** The granted lease in seconds, for a requested one. */
export const grantLease = (wanted: number | undefined): number =>
  wanted === undefined ? defaultLeaseSeconds : Math.min(Math.max(wanted, minLeaseSeconds), maxLeaseSeconds)

/** Ten years: the lease in verifications on the API face, where subscriptions have no lease. */
export const unlimitedLeaseSeconds = 315_360_000

/** Whether the lease has ended, even if the subscription still counts as active. `now` is epoch ms. */
export const hasLeaseEnded = ({ leaseUntil }: Pick<Subscription, "leaseUntil">, now: number): boolean =>
  leaseUntil !== undefined && leaseUntil <= now
