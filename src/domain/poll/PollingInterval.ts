import type { PollingHints } from "#domain/feed/Feed.ts"
import { httpDate } from "#domain/HttpDate.ts"
import type { ResourceKind } from "./Resource.ts"

/** What a fetch told about how soon to come again. */
export interface Pace {
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
export interface Bounds {
  /** The shortest period of a feed; anything else has five times that. */
  readonly minPeriod: number
  /** The longest period of a resource that somebody waits for and that answers. */
  readonly maxPeriod: number
  /** A hub pushes what is new: polls only make sure. */
  readonly fed?: boolean
}

/** As the settings have them. */
export const boundsOf = (settings: { readonly minPeriod: number; readonly maxPeriod: number | undefined }): Bounds => ({
  minPeriod: settings.minPeriod,
  maxPeriod: settings.maxPeriod ?? settings.minPeriod * 15
})

const HOUR = 3600
const DAY = 24 * HOUR
/** How many times the longest period lies between the polls of a resource whose hub is relied on: four hours instead of 15 minutes. */
const BACKUP = 16
/** Polls for each entry that is to be expected. */
const POLLS_PER_ENTRY = 4

/**
 * The next period of a resource, in whole seconds.
 *
 * News halves it, silence adds half, a failure doubles it. It starts at the shortest. Silence takes it to a quarter of the usual time between
 * two entries, less for a resource with many subscribers, and never beyond `maxPeriod`, and so do answers that cannot be read; other
 * failures take it to a day.
 * What the publisher asks for is a floor, up to `maxPeriod` too: some ask to come once a year. Where a hub pushes, sixteen times `maxPeriod`.
 */
export const nextPeriod = (pace: Pace, { fed, maxPeriod, minPeriod }: Bounds): number => {
  const { kind, outcome, period } = pace
  const shortest = kind === "feed" || kind === "unknown" ? minPeriod : minPeriod * 5
  const ceiling = Math.max(maxPeriod, shortest)
  const floor = clamp(pace.hint, shortest, ceiling)
  const failed = outcome === "failed" || outcome === "unreadable"
  if (period === undefined) return failed ? shortest : floor
  if (failed) return clamp(period * 2, shortest, outcome === "failed" ? DAY : ceiling)
  if (fed === true) return clamp(ceiling * BACKUP, shortest, DAY)
  const wished = outcome === "changed" ? period / 2 : period * 1.5
  return clamp(wished, floor, Math.max(floor, Math.min(longest(pace), ceiling)))
}

/** Seconds that silence may grow to: ten times the subscribers halve what is left of the patience. */
const longest = ({ subscribers, velocity }: Pace): number =>
  DAY / (POLLS_PER_ENTRY * Math.max(velocity ?? 1, 1)) / (1 + Math.log10(Math.max(subscribers, 1)))

const clamp = (seconds: number, least: number, most: number): number =>
  Math.round(Math.min(Math.max(seconds, least), most, DAY))

/** Answers' headers with lower-case names. */
interface Headers {
  readonly [name: string]: string | undefined
}

/**
 * Seconds that the publisher asks to wait from `now` (epoch ms): the longest of RSS `ttl`, the syndication module, `Cache-Control: max-age`
 * and `Expires`; without end in an hour or on a day that is to be skipped.
 */
export const hintOf = (headers: Headers, hints: PollingHints | undefined, now: number): number => {
  const fresh = freshness(headers, now)
  if (hints === undefined) return fresh
  return isSkipped(hints, new Date(now)) ? Infinity : Math.max(fresh, (hints.ttl ?? 0) * 60, syndicated(hints))
}

const freshness = (headers: Headers, now: number): number => {
  const control = headers["cache-control"] ?? ""
  if (/\bno-(?:cache|store)\b/i.test(control)) return 0
  const age = /\bmax-age\s*=\s*"?(\d{1,9})/i.exec(control)?.[1]
  if (age !== undefined) return Math.max(Number(age) - (Number(headers["age"]) || 0), 0)
  const expires = httpDate(headers["expires"] ?? "")
  return expires === undefined ? 0 : Math.max((expires - now) / 1000, 0)
}

const periods: { readonly [name: string]: number | undefined } = {
  hourly: HOUR,
  daily: DAY,
  weekly: 7 * DAY,
  monthly: 30 * DAY,
  yearly: 365 * DAY
}

const syndicated = ({ updateFrequency, updatePeriod }: PollingHints): number => {
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
const horizon = 1.1 * DAY * 1000

/** When to fetch what was planned for `at`: at once, when that was by a clock that was far ahead, and has been set right since. */
export const plannedFetch = (at: number, now: number): number => at > now + horizon ? now : at
