import { parseZoneOffset } from "./TimeZones.ts"

/** A date and time as written. Missing numbers are 0, or 1 for month and day. */
export interface WrittenDate {
  readonly year: number
  readonly month: number
  readonly day: number
  readonly hour: number
  readonly minute: number
  readonly second: number
  /** As written, possibly empty. */
  readonly zone: string
}

/** The instant of a written date; `undefined` for an impossible day or hour. */
export const toInstant = (written: WrittenDate): number | undefined => {
  const { year, month, day, hour, minute, second } = written
  if (month < 1 || month > 12 || day < 1 || day > countDays(year, month)) return undefined
  if (hour > 24 || minute > 59 || second > 60 || (hour === 24 && (minute > 0 || second > 0))) return undefined
  const offset = parseZoneOffset(written.zone, written)
  return offset === undefined ? undefined : toEpochMs(year, month, day, hour, minute - offset, Math.min(second, 59))
}

export const countDays = (year: number, month: number): number =>
  month === 2
    ? (year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28)
    : month === 4 || month === 6 || month === 9 || month === 11
    ? 30
    : 31

const maxInstant = Date.UTC(9999, 11, 31, 23, 59, 59)

/** Epoch ms of a valid time. Minutes may be any number. */
export const toEpochMs = (
  year: number,
  month: number,
  day: number,
  hour: number,
  minute: number,
  second: number
): number | undefined => {
  const time = year >= 100
    ? Date.UTC(year, month - 1, day, hour, minute, second)
    : new Date(Date.UTC(2000, month - 1, day, hour, minute, second)).setUTCFullYear(year)
  return time > maxInstant ? undefined : time
}

/** Expands a year of two digits to 1970 to 2069. */
export const expandYear = (digits: string): number =>
  digits.length > 2 ? Number(digits) : Number(digits) + (Number(digits) < 70 ? 2000 : 1900)

/** Converts hours 1 to 12 with am or pm to 0 to 23. */
export const to24Hours = (hour: number, half: string | undefined): number => {
  if (half === undefined) return hour
  const afternoon = /^p/i.test(half)
  return afternoon && hour < 12 ? hour + 12 : !afternoon && hour === 12 ? 0 : hour
}
