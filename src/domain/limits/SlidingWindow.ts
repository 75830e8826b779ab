/** Times of the last requests to a site, epoch ms, oldest first; at most the requests that one minute allows. */
export type SlidingWindow = ReadonlyArray<number>

const windowMs = 60_000

/** Drops times of a clock that was ahead. Clocks of runners differ by less than a minute. */
const dropFutureTimes = (window: SlidingWindow, now: number): SlidingWindow =>
  window.filter((at) => at <= now + windowMs)

/** The earliest time of the next request, so that no minute holds more than `perMinute` requests. */
export const nextAllowedAt = (window: SlidingWindow, now: number, perMinute: number): number => {
  const oldest = dropFutureTimes(window, now).at(-perMinute)
  return oldest === undefined ? now : Math.max(now, oldest + windowMs)
}

export const addRequest = (window: SlidingWindow, at: number, perMinute: number): SlidingWindow =>
  [...dropFutureTimes(window, at), at].slice(-perMinute)
