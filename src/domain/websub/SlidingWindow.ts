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

/** Due requests: allowed now, or deferred until their site allows the next request. */
export interface Allocation<A> {
  readonly allowed: ReadonlyArray<A>
  readonly deferred: ReadonlyArray<{ readonly request: A; readonly dueAt: number }>
  /** New windows of the sites with allowed requests. */
  readonly windows: ReadonlyMap<string, SlidingWindow>
}

/** Allows at most `limit` requests in order, each site within its own limit. Requests after the limit are neither allowed nor deferred. */
export const allocate = <A extends { readonly site: string }>(
  due: ReadonlyArray<A>,
  windowOf: (site: string) => SlidingWindow,
  now: number,
  { limit, perMinute }: { readonly limit: number; readonly perMinute: number }
): Allocation<A> => {
  const windows = new Map<string, SlidingWindow>()
  const allowed: Array<A> = []
  const deferred: Array<{ readonly request: A; readonly dueAt: number }> = []
  for (const request of due) {
    if (allowed.length === limit) break
    const window = windows.get(request.site) ?? windowOf(request.site)
    const dueAt = nextAllowedAt(window, now, perMinute)
    if (dueAt > now) {
      deferred.push({ request, dueAt })
    } else {
      allowed.push(request)
      windows.set(request.site, addRequest(window, now, perMinute))
    }
  }
  return { allowed, deferred, windows }
}
