import type { ResourceKind } from "./Resource.ts"

/** What a fetch told about how soon to come again. */
export interface Pace {
  readonly kind: ResourceKind
  /** Seconds, as it was; `undefined` before the first fetch. */
  readonly period: number | undefined
  readonly outcome: "changed" | "unchanged" | "failed"
  /** Entries a day; `undefined` before the first maintenance. */
  readonly velocity: number | undefined
}

const DAY = 86_400
/** An unknown resource is not asked less often than every so many shortest periods: 15 minutes for a feed. */
const PATIENCE = 15
/** Polls for each entry that is to be expected. */
const POLLS_PER_ENTRY = 4

/**
 * The next period of a resource, in whole seconds.
 *
 * News halves it, silence adds half, a failure doubles it. It starts at the shortest, 60 s for feeds and 300 s for anything else
 * (`minPeriod`, seconds, and five times that), and silence only takes it to a quarter of the usual time between two entries, failures to a day.
 */
export const nextPeriod = ({ kind, period, outcome, velocity }: Pace, minPeriod: number): number => {
  const shortest = kind === "feed" || kind === "unknown" ? minPeriod : minPeriod * 5
  if (period === undefined) return shortest
  if (outcome === "failed") return clamp(period * 2, shortest, DAY)
  const longest = velocity === undefined ? shortest * PATIENCE : DAY / (POLLS_PER_ENTRY * Math.max(velocity, 1))
  return clamp(outcome === "changed" ? period / 2 : period * 1.5, shortest, Math.max(longest, shortest))
}

const clamp = (seconds: number, least: number, most: number): number =>
  Math.round(Math.min(Math.max(seconds, least), most, DAY))

/**
 * When to fetch next, epoch ms.
 *
 * `jitter` (0 up to 1) adds up to a tenth, so that resources which began together do not stay together.
 * `notBefore` (epoch ms) is what the server asked for with Retry-After.
 */
export const nextFetch = (now: number, period: number, jitter: number, notBefore = 0): number =>
  Math.max(now + Math.round(period * 1000 * (1 + jitter / 10)), notBefore)
