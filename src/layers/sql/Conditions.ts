/** Condition: the subscription is active at `$1` (epoch ms), and receives notifications. */
export const isLive = (subscription: string): string =>
  `${subscription}.state = 1 and (${subscription}.lease_until is null or ${subscription}.lease_until > to_timestamp($1::float8 / 1000.0))`
