import type { PollingHints } from "#domain/feed/Feed.ts"
import { httpDate } from "#domain/HttpDate.ts"
import { fragmentOf } from "./Fragment.ts"
import type { ResourceKind } from "./Resource.ts"

/** The facts that decide the next period. */
export interface IntervalInput {
  readonly kind: ResourceKind
  /** Previous period in seconds; undefined before the first fetch. */
  readonly period: number | undefined
  /** `unreadable` is an answer without the watched content. */
  readonly outcome: "changed" | "unchanged" | "failed" | "unreadable"
  /** Entries a day; `undefined` before the first maintenance. */
  readonly velocity: number | undefined
  readonly subscribers: number
  /** Seconds that the publisher asks to wait, see `hintOf`. */
  readonly hint: number
}

/** Seconds, both settings of the operator. */
export interface IntervalBounds {
  /** The shortest period of a feed; anything else has five times that. */
  readonly minPeriod: number
  /** The longest period of a resource with subscribers and a working server. */
  readonly maxPeriod: number
  /** A hub pushes the news, so that rare polls suffice. */
  readonly pushedByHub?: boolean
}

/** The bounds from the settings. */
export const intervalBoundsOf = (
  settings: { readonly minPeriodSeconds: number; readonly maxPeriodSeconds: number | undefined }
): IntervalBounds => ({
  minPeriod: settings.minPeriodSeconds,
  maxPeriod: settings.maxPeriodSeconds ?? settings.minPeriodSeconds * 15
})

const secondsPerHour = 3600
const secondsPerDay = 24 * secondsPerHour
/** Factor of the longest period for a resource with a reliable hub: four hours instead of 15 minutes. */
const pushedPeriodFactor = 16
/** Factor of the shortest period for resources that are no feeds. */
const otherPeriodFactor = 5
/** Polls for each expected entry. */
const pollsPerEntry = 4

/**
 * The next period of a resource, in whole seconds.
 *
 * The period starts at the shortest. News halve the period, silence adds half, and a failure doubles the period. Silence ends at a quarter
 * of the usual time between two entries, less for a resource with many subscribers, and at `maxPeriod`. Unreadable answers end at
 * `maxPeriod` as well, other failures at a day. The publisher's hint is a floor up to `maxPeriod`, because some publishers ask for a year.
 * With a reliable hub, the period is sixteen times `maxPeriod`.
 */
export const nextPeriod = (input: IntervalInput, { pushedByHub, maxPeriod, minPeriod }: IntervalBounds): number => {
  const { kind, outcome, period } = input
  const shortest = kind === "feed" || kind === "unknown" ? minPeriod : minPeriod * otherPeriodFactor
  const ceiling = Math.max(maxPeriod, shortest)
  const floor = clampPeriod(input.hint, shortest, ceiling)
  const failed = outcome === "failed" || outcome === "unreadable"
  if (period === undefined) return failed ? shortest : floor
  if (failed) return clampPeriod(period * 2, shortest, outcome === "failed" ? secondsPerDay : ceiling)
  if (pushedByHub === true) return clampPeriod(ceiling * pushedPeriodFactor, shortest, secondsPerDay)
  const wanted = outcome === "changed" ? period / 2 : period * 1.5
  return clampPeriod(wanted, floor, Math.max(floor, Math.min(longestQuietPeriod(input), ceiling)))
}

/** Longest period of a silent resource, in seconds. Ten times the subscribers halve the period. */
const longestQuietPeriod = ({ subscribers, velocity }: IntervalInput): number =>
  secondsPerDay / (pollsPerEntry * Math.max(velocity ?? 1, 1)) / (1 + Math.log10(Math.max(subscribers, 1)))

/** Seconds between polls of a new resource, as far as its topic tells: fragments are no feeds. */
export const firstPeriod = (canonical: string, minPeriod: number): number =>
  fragmentOf(canonical) === undefined ? minPeriod : minPeriod * otherPeriodFactor

const clampPeriod = (seconds: number, min: number, max: number): number =>
  Math.round(Math.min(Math.max(seconds, min), max, secondsPerDay))

/** Answers' headers with lower-case names. */
interface Headers {
  readonly [name: string]: string | undefined
}

/**
 * The publisher's requested wait from `now` (epoch ms), in seconds: the longest of RSS `ttl`, the syndication module,
 * `Cache-Control: max-age` and `Expires`. During a skipped hour or day the wait is infinite.
 */
export const hintOf = (headers: Headers, hints: PollingHints | undefined, now: number): number => {
  const fresh = cacheLifetime(headers, now)
  if (hints === undefined) return fresh
  return isSkipped(hints, new Date(now)) ? Infinity : Math.max(fresh, (hints.ttl ?? 0) * 60, syndicationPeriod(hints))
}

const cacheLifetime = (headers: Headers, now: number): number => {
  const control = headers["cache-control"] ?? ""
  if (/\bno-(?:cache|store)\b/i.test(control)) return 0
  const age = /\bmax-age\s*=\s*"?(\d{1,9})/i.exec(control)?.[1]
  if (age !== undefined) return Math.max(Number(age) - (Number(headers["age"]) || 0), 0)
  const expires = httpDate(headers["expires"] ?? "")
  return expires === undefined ? 0 : Math.max((expires - now) / 1000, 0)
}

const periods: { readonly [name: string]: number | undefined } = {
  hourly: secondsPerHour,
  daily: secondsPerDay,
  weekly: 7 * secondsPerDay,
  monthly: 30 * secondsPerDay,
  yearly: 365 * secondsPerDay
}

const syndicationPeriod = ({ updateFrequency, updatePeriod }: PollingHints): number => {
  if (updatePeriod === undefined && updateFrequency === undefined) return 0
  return (periods[(updatePeriod ?? "daily").trim().toLowerCase()] ?? 0) / (updateFrequency ?? 1)
}

const days = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"]

/** Whether the hour or day is skipped. A list of all hours or all days counts as no list. */
const isSkipped = ({ skipDays, skipHours }: PollingHints, now: Date): boolean => {
  const hours = new Set(skipHours?.map((hour) => hour % 24))
  const names = new Set(skipDays?.map((day) => day.trim().toLowerCase()))
  return hours.size < 24 && hours.has(now.getUTCHours()) || names.size < 7 && names.has(days[now.getUTCDay()] ?? "")
}

/**
 * Time of the next fetch, epoch ms.
 *
 * `jitter` (0 up to 1) adds up to a tenth, so that resources which began together do not stay together.
 * `notBefore` (epoch ms) is the time from the server's Retry-After.
 */
export const nextFetch = (now: number, period: number, jitter: number, notBefore = 0): number =>
  Math.max(now + Math.round(period * 1000 * (1 + jitter / 10)), notBefore)

/** Longest time to the next poll, in ms: a day, and the tenth of the jitter. */
const maxPlanAheadMs = 1.1 * secondsPerDay * 1000

/** Time of a planned fetch. A fetch beyond the longest time is due at once, because a clock that was ahead planned the fetch. */
export const plannedFetch = (at: number, now: number): number => at > now + maxPlanAheadMs ? now : at
