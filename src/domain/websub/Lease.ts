import type { Subscription } from "#domain/Subscription.ts"

/** Seconds of a lease on the hub face: what a subscriber gets that asks for nothing, and what it can get. */
const defaultLeaseSeconds = 864_000
const minLeaseSeconds = 86_400
const maxLeaseSeconds = 90 * 86_400

/** The lease of a subscriber that asked for so many seconds. */
export const grantLease = (wanted: number | undefined): number =>
  wanted === undefined ? defaultLeaseSeconds : Math.min(Math.max(wanted, minLeaseSeconds), maxLeaseSeconds)

/** What a verification on the API face says of the lease: there is none, ten years stand for it. */
export const unlimitedLeaseSeconds = 315_360_000

/** A lease that has ended counts as ended, whoever has not noticed yet. `now` is epoch ms. */
export const hasLeaseEnded = ({ leaseUntil }: Pick<Subscription, "leaseUntil">, now: number): boolean =>
  leaseUntil !== undefined && leaseUntil <= now
