/**
 * When a site was last asked, epoch milliseconds, oldest first: as many times as it may be asked in a minute.
 */
export type SlidingWindow = ReadonlyArray<number>

const minute = 60_000

/** What a clock that was ahead has noted keeps nobody out; clocks of runners differ by less than a minute. */
const noted = (turns: SlidingWindow, now: number): SlidingWindow => turns.filter((at) => at <= now + minute)

/** The first moment from `now` on at which it may be asked again, so that no minute holds more than `perMinute` questions. */
export const nextTurn = (turns: SlidingWindow, now: number, perMinute: number): number => {
  const oldest = noted(turns, now).at(-perMinute)
  return oldest === undefined ? now : Math.max(now, oldest + minute)
}

export const withTurn = (turns: SlidingWindow, at: number, perMinute: number): SlidingWindow =>
  [...noted(turns, at), at].slice(-perMinute)

/** What becomes of some questions that are due: asked now, or moved to the next turn of their site. */
export interface Allotment<A> {
  readonly asked: ReadonlyArray<A>
  readonly moved: ReadonlyArray<{ readonly one: A; readonly dueAt: number }>
  /** The sites that are asked, with this turn. */
  readonly turns: ReadonlyMap<string, SlidingWindow>
}

/** Allots at most `limit` turns in order, each site within its own bound; what is behind them stays as it is. */
export const allot = <A extends { readonly site: string }>(
  due: ReadonlyArray<A>,
  turnsOf: (site: string) => SlidingWindow,
  now: number,
  { limit, perMinute }: { readonly limit: number; readonly perMinute: number }
): Allotment<A> => {
  const turns = new Map<string, SlidingWindow>()
  const asked: Array<A> = []
  const moved: Array<{ readonly one: A; readonly dueAt: number }> = []
  for (const one of due) {
    if (asked.length === limit) break
    const taken = turns.get(one.site) ?? turnsOf(one.site)
    const dueAt = nextTurn(taken, now, perMinute)
    if (dueAt > now) {
      moved.push({ one, dueAt })
    } else {
      asked.push(one)
      turns.set(one.site, withTurn(taken, now, perMinute))
    }
  }
  return { asked, moved, turns }
}
