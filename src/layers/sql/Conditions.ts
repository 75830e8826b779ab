/** Condition: the subscription is active at `$1` (epoch ms). */
export const isLive = (subscription: string): string => `${subscription}.state = 1 and ${hasLease(subscription)}`

/**
 * Condition: the subscription receives notifications at `$1` (epoch ms).
 * A pending subscription of the hub face does too: its notifications wait for the verification.
 */
export const isNotified = (subscription: string): string =>
  `(${subscription}.state = 1 or ${subscription}.face = 1 and ${subscription}.state = 0) and ${hasLease(subscription)}`

const hasLease = (subscription: string) =>
  `(${subscription}.lease_until is null or ${subscription}.lease_until > to_timestamp($1::float8 / 1000.0))`
