/** Maximum of fetches from one host in flight. */
export const maxFetchesPerHost = 2

/** Maximum of fetches of a host that start without spacing. */
export const maxFetchBurst = 10

/** Maximum of fetches from one host within the shortest period: 20 a second if that period is a minute. */
const maxFetchesPerHostAndPeriod = 1_200

/** Time between the starts of two fetches from one host after the burst, in ms. */
export const fetchSpacingMs = (minPeriodSeconds: number): number => minPeriodSeconds / maxFetchesPerHostAndPeriod * 1000
