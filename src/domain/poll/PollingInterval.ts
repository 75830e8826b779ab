import type { PollingHints } from "#domain/feed/Feed.ts"
import { httpDate } from "#domain/HttpDate.ts"
import type { ResourceKind } from "./Resource.ts"

/** What a fetch told about how soon to come again. */
export interface IntervalInput {
  readonly kind: ResourceKind
  /** Seconds, as it was; `undefined` before the first fetch. */
  readonly period: number | undefined
  /** `unreadable`: there was an answer, but not what is watched. */
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
  /** The longest period of a resource that somebody waits for and that answers. */
  readonly maxPeriod: number
  /** A hub pushes what is new: polls only make sure. */
  readonly pushedByHub?: boolean
}

/** As the settings have them. */
export const intervalBoundsOf = (
  settings: { readonly minPeriod: number; readonly maxPeriod: number | undefined }
): IntervalBounds => ({
  minPeriod: settings.minPeriod,
  maxPeriod: settings.maxPeriod ?? settings.minPeriod * 15
})

const secondsPerHour = 3600
const secondsPerDay = 24 * secondsPerHour
/** How many times the longest period lies between the polls of a resource whose hub is relied on: four hours instead of 15 minutes. */
const pushedPeriodFactor = 16
/** Polls for each entry that is to be expected. */
const pollsPerEntry = 4

/**
 * The next period of a resource, in whole seconds.
 *
 * News halves it, silence adds half, a failure doubles it. It starts at the shortest. Silence takes it to a quarter of the usual time between
 * two entries, less for a resource with many subscribers, and never beyond `maxPeriod`, and so do answers that cannot be read; other
 * failures take it to a day.
 * What the publisher asks for is a floor, up to `maxPeriod` too: some ask to come once a year. Where a hub pushes, sixteen times `maxPeriod`.
 */
export const nextPeriod = (pace: IntervalInput, { pushedByHub, maxPeriod, minPeriod }: IntervalBounds): number => {
  const { kind, outcome, period } = pace
  const shortest = kind === "feed" || kind === "unknown" ? minPeriod : minPeriod * 5
  const ceiling = Math.max(maxPeriod, shortest)
  const floor = clampPeriod(pace.hint, shortest, ceiling)
  const failed = outcome === "failed" || outcome === "unreadable"
  if (period === undefined) return failed ? shortest : floor
  if (failed) return clampPeriod(period * 2, shortest, outcome === "failed" ? secondsPerDay : ceiling)
  if (pushedByHub === true) return clampPeriod(ceiling * pushedPeriodFactor, shortest, secondsPerDay)
  const wished = outcome === "changed" ? period / 2 : period * 1.5
  return clampPeriod(wished, floor, Math.max(floor, Math.min(longestQuietPeriod(pace), ceiling)))
}

/** Seconds that silence may grow to: ten times the subscribers halve what is left of the patience. */
const longestQuietPeriod = ({ subscribers, velocity }: IntervalInput): number =>
  secondsPerDay / (pollsPerEntry * Math.max(velocity ?? 1, 1)) / (1 + Math.log10(Math.max(subscribers, 1)))

const clampPeriod = (seconds: number, least: number, most: number): number =>
  Math.round(Math.min(Math.max(seconds, least), most, secondsPerDay))

/** Answers' headers with lower-case names. */
interface Headers {
  readonly [name: string]: string | undefined
}

/**
 * Seconds that the publisher asks to wait from `now` (epoch ms): the longest of RSS `ttl`, the syndication module, `Cache-Control: max-age`
 * and `Expires`; without end in an hour or on a day that is to be skipped.
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

/** Some publishers list every hour or day: who skips everything asks for nothing. */
const isSkipped = ({ skipDays, skipHours }: PollingHints, now: Date): boolean => {
  const hours = new Set(skipHours?.map((hour) => hour % 24))
  const names = new Set(skipDays?.map((day) => day.trim().toLowerCase()))
  return hours.size < 24 && hours.has(now.getUTCHours()) || names.size < 7 && names.has(days[now.getUTCDay()] ?? "")
}

/**
 * When to fetch next, epoch ms.
 *
 * `jitter` (0 up to 1) adds up to a tenth, so that resources which began together do not stay together.
 * `notBefore` (epoch ms) is what the server asked for with Retry-After.
 */
export const nextFetch = (now: number, period: number, jitter: number, notBefore = 0): number =>
  Math.max(now + Math.round(period * 1000 * (1 + jitter / 10)), notBefore)

/** Milliseconds from now to the furthest poll: a day, and the tenth that spreads. */
const maxPlanAheadMs = 1.1 * secondsPerDay * 1000

/** When to fetch what was planned for `at`: at once, when that was by a clock that was far ahead, and has been set right since. */
export const plannedFetch = (at: number, now: number): number => at > now + maxPlanAheadMs ? now : at
