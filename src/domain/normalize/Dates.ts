import { monthOf } from "./DateWords.ts"
import { freeDate } from "./FreeDates.ts"
import { at, daysIn, fullYear, instant, twelveHour } from "./Instant.ts"

const LONGEST = 120

/**
 * The epoch ms of a date in any of the forms that feeds use; `undefined` for what is no date.
 *
 * RFC 822 in all its sloppiness, ISO 8601 and W3C-DTF with parts missing, asctime, Unix seconds, dates with slashes or dots, month names
 * in a dozen languages, named zones. A date without a zone is UTC. Fractions of a second are dropped.
 */
export const parseDate = (text: string): number | undefined => {
  const plain = text.trim()
  if (plain === "" || plain.length > LONGEST) return undefined
  return rfc822(plain) ?? iso(plain) ?? slow(plain.normalize("NFC").replace(/[\s\u00a0\u2009\u202f]+/g, " "))
}

const RFC822 =
  /^(?:[A-Za-z]{3}, ?)?(\d{1,2}) ([A-Za-z]{3}) (\d{4}) (\d{2}):(\d{2}):(\d{2}) (?:([+-])(\d{2})(\d{2})|GMT|UTC|Z|UT)$/

/** What most of RSS uses, in one expression. */
const rfc822 = (text: string): number | undefined => {
  const match = RFC822.exec(text)
  if (match === null) return undefined
  const month = monthOf(match[2] ?? "") ?? 0
  return exact(Number(match[3]), month, Number(match[1]), match, 4)
}

const ISO = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:\.\d+)?(?:Z|([+-])(\d{2}):?(\d{2}))$/

/** What most of Atom uses. */
const iso = (text: string): number | undefined => {
  const match = ISO.exec(text)
  return match === null ? undefined : exact(Number(match[1]), Number(match[2]), Number(match[3]), match, 4)
}

const exact = (year: number, month: number, day: number, match: RegExpExecArray, from: number): number | undefined => {
  const hour = Number(match[from])
  const minute = Number(match[from + 1])
  const second = Number(match[from + 2])
  const offset = match[from + 3] === undefined ? 0 : Number(match[from + 4]) * 60 + Number(match[from + 5])
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month) || hour > 23 || minute > 59 || second > 60) {
    return undefined
  }
  return offset > 26 * 60
    ? undefined
    : at(year, month, day, hour, minute - (match[from + 3] === "-" ? -offset : offset), Math.min(second, 59))
}

const slow = (text: string): number | undefined =>
  unix(text) ?? eastAsian(text) ?? shortYear(text) ?? looseIso(text) ?? slashed(text) ?? freeDate(text)

/** Seconds or milliseconds since 1970, as some scripts print. */
const unix = (text: string): number | undefined =>
  /^\d{9,10}$/.test(text)
    ? Number(text) * 1000
    : /^\d{13}$/.test(text)
    ? Math.floor(Number(text) / 1000) * 1000
    : undefined

const CHARACTERS =
  /^(\d{4})(?:년|年|-)\s*(\d{1,2})(?:월|月|-)\s*(\d{1,2})(?:일|日)?\s*(?:(오전|오후|上午|下午|午前|午後)\s*)?(?:(\d{1,2}):(\d{2}):?(\d{2})?)?\s*(.*)$/

/** `2004년 5월 28일 오후 1:31:15`, `2004-05-28 오후 11:23`, `2004年5月28日`. Korean times are Korea's where no zone is given. */
const eastAsian = (text: string): number | undefined => {
  const match = /[년年오上下午]/.test(text) ? CHARACTERS.exec(text) : null
  if (match === null) return undefined
  const [, year, month, day, half, hour, minute, second, zone] = match
  const afternoon = half !== undefined && /^(?:오후|下午|午後)$/.test(half)
  const written = {
    year: Number(year),
    month: Number(month),
    day: Number(day),
    hour: Number(hour ?? 0),
    minute: Number(minute ?? 0),
    second: Number(second ?? 0)
  }
  return instant({
    ...written,
    hour: twelveHour(written.hour, half === undefined ? undefined : afternoon ? "pm" : "am"),
    zone: zone === "" && /[년오]/.test(text) ? "KST" : zone ?? ""
  })
}

/** ISO 8601:1988 allowed to leave out the century: `03-12-31`, `031231`, `-0312`, `-03-12`, and the day of the year in `03335`. */
const shortYear = (text: string): number | undefined => {
  const day = /^(\d{2})-(\d{2})-(\d{2})$/.exec(text) ?? /^(\d{2})(\d{2})(\d{2})$/.exec(text) ??
    /^-(\d{2})-?(\d{2})$/.exec(text)
  if (day !== null) {
    return instant({ ...MIDNIGHT, year: fullYear(day[1] ?? ""), month: Number(day[2]), day: Number(day[3] ?? 1) })
  }
  const ordinal = /^(\d{2})-?(\d{3})$/.exec(text) ?? /^(\d{4})-(\d{3})$/.exec(text)
  return ordinal === null ? undefined : dayOfYear(fullYear(ordinal[1] ?? ""), Number(ordinal[2]))
}

const MIDNIGHT = { hour: 0, minute: 0, second: 0, zone: "" }

const dayOfYear = (year: number, day: number): number | undefined =>
  day < 1 || day > 366 ? undefined : Date.UTC(year, 0, day)

const LOOSE_ISO =
  /^(\d{4})(?:-?0?(\d{2}|[1-9](?=-))(?:-?(\d{1,2}))?)?(?:(?: ?[Tt] ?| )(\d{1,2})(?::?(\d{2}))?(?::?(\d{2})(?:[.,]\d+)?)? ?(am|pm|a\.m\.|p\.m\.)? ?(.*))?$/i

const looseIso = (text: string): number | undefined => {
  const match = /^\d{5}$|^\d{7}$/.test(text) ? null : LOOSE_ISO.exec(text)
  if (match === null) return undefined
  const [, year, month, day, hour, minute, second, half, zone] = match
  return instant({
    year: Number(year),
    month: Number(month ?? 1),
    day: Number(day ?? 1),
    hour: twelveHour(Number(hour ?? 0), half),
    minute: Number(minute ?? 0),
    second: Number(second ?? 0),
    zone: zone ?? ""
  })
}

const SLASHED = /^(?:[\p{L}.]+,? )?(\d{4})\/(\d{1,2})\/(\d{1,2})(?:[ T,-]+(\d{1,2}):(\d{2})(?::(\d{2}))? ?(.*))?$/u

/** `Fri, 2006/09/15 08:19:53 EDT`. */
const slashed = (text: string): number | undefined => {
  const match = SLASHED.exec(text)
  if (match === null) return undefined
  const [, year, month, day, hour, minute, second, zone] = match
  return instant({
    year: Number(year),
    month: Number(month),
    day: Number(day),
    hour: Number(hour ?? 0),
    minute: Number(minute ?? 0),
    second: Number(second ?? 0),
    zone: zone ?? ""
  })
}
