/**
 * When a site was last asked, epoch milliseconds, oldest first: as many times as it may be asked in a minute.
 */
export type SlidingWindow = ReadonlyArray<number>

const windowMs = 60_000

/** What a clock that was ahead has noted keeps nobody out; clocks of runners differ by less than a minute. */
const withoutFutureTimes = (turns: SlidingWindow, now: number): SlidingWindow =>
  turns.filter((at) => at <= now + windowMs)

/** The first moment from `now` on at which it may be asked again, so that no minute holds more than `perMinute` questions. */
export const nextAllowedAt = (turns: SlidingWindow, now: number, perMinute: number): number => {
  const oldest = withoutFutureTimes(turns, now).at(-perMinute)
  return oldest === undefined ? now : Math.max(now, oldest + windowMs)
}

export const addRequest = (turns: SlidingWindow, at: number, perMinute: number): SlidingWindow =>
  [...withoutFutureTimes(turns, at), at].slice(-perMinute)

/** What becomes of some questions that are due: asked now, or moved to the next turn of their site. */
export interface Allocation<A> {
  readonly allowed: ReadonlyArray<A>
  readonly deferred: ReadonlyArray<{ readonly one: A; readonly dueAt: number }>
  /** The sites that are asked, with this turn. */
  readonly windows: ReadonlyMap<string, SlidingWindow>
}

/** Allots at most `limit` turns in order, each site within its own bound; what is behind them stays as it is. */
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
