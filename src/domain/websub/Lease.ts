import type { Subscription } from "#domain/Subscription.ts"

/** Seconds of a lease on the hub face: what a subscriber gets that asks for nothing, and what it can get. */
const standard = 864_000
const shortest = 86_400
const longest = 90 * 86_400

/** The lease of a subscriber that asked for so many seconds. */
export const granted = (wanted: number | undefined): number =>
  wanted === undefined ? standard : Math.min(Math.max(wanted, shortest), longest)

/** What a verification on the API face says of the lease: there is none, ten years stand for it. */
export const none = 315_360_000

/** A lease that has ended counts as ended, whoever has not noticed yet. `now` is epoch ms. */
export const hasEnded = ({ leaseUntil }: Pick<Subscription, "leaseUntil">, now: number): boolean =>
  leaseUntil !== undefined && leaseUntil <= now
