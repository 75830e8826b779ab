/** Times of the last requests to a site, epoch ms, oldest first; at most the requests that one minute allows. */
export type SlidingWindow = ReadonlyArray<number>

const windowMs = 60_000

/** Drops times of a clock that was ahead. Clocks of runners differ by less than a minute. */
const withoutFutureTimes = (turns: SlidingWindow, now: number): SlidingWindow =>
  turns.filter((at) => at <= now + windowMs)

/** The earliest time of the next request, so that no minute holds more than `perMinute` requests. */
export const nextAllowedAt = (turns: SlidingWindow, now: number, perMinute: number): number => {
  const oldest = withoutFutureTimes(turns, now).at(-perMinute)
  return oldest === undefined ? now : Math.max(now, oldest + windowMs)
}

export const addRequest = (turns: SlidingWindow, at: number, perMinute: number): SlidingWindow =>
  [...withoutFutureTimes(turns, at), at].slice(-perMinute)

/** Due requests: allowed now, or deferred until their site allows the next request. */
export interface Allocation<A> {
  readonly allowed: ReadonlyArray<A>
  readonly deferred: ReadonlyArray<{ readonly one: A; readonly dueAt: number }>
  /** New windows of the sites with allowed requests. */
  readonly windows: ReadonlyMap<string, SlidingWindow>
}

/** Allows at most `limit` requests in order, each site within its own limit. Requests after the limit are left alone. */
export const allocate = <A extends { readonly site: string }>(
  due: ReadonlyArray<A>,
  turnsOf: (site: string) => SlidingWindow,
  now: number,
  { limit, perMinute }: { readonly limit: number; readonly perMinute: number }
): Allocation<A> => {
  const turns = new Map<string, SlidingWindow>()
  const asked: Array<A> = []
  const moved: Array<{ readonly one: A; readonly dueAt: number }> = []
  for (const one of due) {
    if (asked.length === limit) break
    const taken = turns.get(one.site) ?? turnsOf(one.site)
    const dueAt = nextAllowedAt(taken, now, perMinute)
    if (dueAt > now) {
      moved.push({ one, dueAt })
    } else {
      asked.push(one)
      turns.set(one.site, addRequest(taken, now, perMinute))
    }
  }
  return { allowed: asked, deferred: moved, windows: turns }
}
