import { parseMonth } from "./MonthNames.ts"
import { parseFreeDate } from "./FreeDates.ts"
import { countDays, expandYear, to24Hours, toEpochMs, toInstant, type WrittenDate } from "./Instant.ts"

const maxDateLength = 120

/**
 * Parses a date in any form of feeds into epoch ms; `undefined` for other texts.
 *
 * Forms: sloppy RFC 822, ISO 8601 and W3C-DTF with missing parts, asctime, Unix seconds, slashes, dots, month names in a dozen languages,
 * named zones. A date without a zone is UTC. Fractions of a second are dropped.
 */
export const parseDate = (text: string): number | undefined => {
  const plain = text.trim()
  if (plain === "" || plain.length > maxDateLength) return undefined
  return parseMailDate(plain) ?? parseIsoDate(plain) ??
    parseRareDate(plain.normalize("NFC").replace(/[\s\u00a0\u2009\u202f]+/g, " "))
}

const SPACE = 32
const PLUS = 43
const COMMA = 44
const MINUS = 45
const POINT = 46
const COLON = 58
const CAPITAL_T = 84
const CAPITAL_Z = 90

/** Parses `Mon, 02 Sep 2024 12:00:00 +0000`, also with `2 Sep` or `GMT`, by position. Most RSS feeds have this form. */
const parseMailDate = (text: string): number | undefined => {
  if (text.charCodeAt(3) !== COMMA || text.charCodeAt(4) !== SPACE) return undefined
  const day = text.charCodeAt(6) === SPACE ? 1 : 2
  const spaced = text.charCodeAt(5 + day) === SPACE && text.charCodeAt(9 + day) === SPACE &&
    text.charCodeAt(14 + day) === SPACE && text.charCodeAt(23 + day) === SPACE
  const month = spaced ? parseMonth(text.slice(6 + day, 9 + day)) : undefined
  return month === undefined
    ? undefined
    : toCheckedInstant(
      parseDigits(text, 10 + day, 4),
      month,
      parseDigits(text, 5, day),
      text,
      15 + day,
      parseMailZone(text, 24 + day)
    )
}

const parseMailZone = (text: string, at: number): number =>
  text.length === at + 5 ? parseOffset(text, at, at + 3) : text.length === at + 3 && text.endsWith("GMT") ? 0 : missing

/** Parses `2024-09-02T12:00:00Z`, also with a fraction or `+00:00`, by position. Most Atom feeds have this form. */
const parseIsoDate = (text: string): number | undefined => {
  if (text.charCodeAt(10) !== CAPITAL_T || text.charCodeAt(4) !== MINUS || text.charCodeAt(7) !== MINUS) {
    return undefined
  }
  let zone = 19
  if (text.charCodeAt(zone) === POINT && parseDigits(text, 20, 1) >= 0) {
    do zone++
    while (parseDigits(text, zone, 1) >= 0)
  }
  return toCheckedInstant(
    parseDigits(text, 0, 4),
    parseDigits(text, 5, 2),
    parseDigits(text, 8, 2),
    text,
    11,
    parseIsoZone(text, zone)
  )
}

const parseIsoZone = (text: string, at: number): number => {
  if (text.charCodeAt(at) === CAPITAL_Z) return text.length === at + 1 ? 0 : missing
  return text.length === at + 6 && text.charCodeAt(at + 3) === COLON ? parseOffset(text, at, at + 4) : missing
}

/** Fails every comparison with a bound. */
const missing = Number.NaN

/** Parses `count` decimal digits. */
const parseDigits = (text: string, start: number, count: number): number => {
  let number = 0
  for (let at = start; at < start + count; at++) {
    const digit = text.charCodeAt(at) - 48
    if (!(digit >= 0 && digit <= 9)) return missing
    number = 10 * number + digit
  }
  return number
}

/** Parses a sign, two digits of hours, and two digits of minutes at `minutes`. The result is in minutes. */
const parseOffset = (text: string, sign: number, minutes: number): number => {
  const offset = parseDigits(text, sign + 1, 2) * 60 + parseDigits(text, minutes, 2)
  const code = text.charCodeAt(sign)
  return code === PLUS ? offset : code === MINUS ? -offset : missing
}

/** The instant, if all parts are within bounds and `hh:mm:ss` stands at `time`; else slower parsers try. */
const toCheckedInstant = (
  year: number,
  month: number,
  day: number,
  text: string,
  time: number,
  offset: number
): number | undefined => {
  const hour = parseDigits(text, time, 2)
  const minute = parseDigits(text, time + 3, 2)
  const second = parseDigits(text, time + 6, 2)
  const whole = year >= 0 && month >= 1 && month <= 12 && day >= 1 && day <= countDays(year, month) && hour <= 23 &&
    minute <= 59 && second <= 60 && Math.abs(offset) <= 26 * 60 &&
    text.charCodeAt(time + 2) === COLON && text.charCodeAt(time + 5) === COLON
  return whole ? toEpochMs(year, month, day, hour, minute - offset, Math.min(second, 59)) : undefined
}

/** More than the words of any date: `Monday, 2 September 2024 at 12:00:00 (Central European Summer Time)`. */
const maxWords = 14

const parseRareDate = (text: string): number | undefined =>
  text.split(" ", maxWords + 1).length > maxWords ? undefined : tryRareFormats(text)

const tryRareFormats = (text: string): number | undefined =>
  parseUnixTime(text) ?? parseEastAsianDate(text) ?? parseShortYearDate(text) ?? parseLooseIsoDate(text) ??
    parseSlashedDate(text) ?? parseFreeDate(text)

/** Parses seconds or milliseconds since 1970. */
const parseUnixTime = (text: string): number | undefined =>
  /^\d{9,10}$/.test(text)
    ? Number(text) * 1000
    : /^\d{13}$/.test(text)
    ? Math.floor(Number(text) / 1000) * 1000
    : undefined

/** The numbers of a match. A missing number is 0, or 1 for month and day. */
const toNumbers = (
  year: string | undefined,
  month = "1",
  day = "1",
  hour = "0",
  minute = "0",
  second = "0"
): Omit<WrittenDate, "zone"> => ({
  year: Number(year),
  month: Number(month),
  day: Number(day),
  hour: Number(hour),
  minute: Number(minute),
  second: Number(second)
})

const eastAsianDate =
  /^(\d{4})(?:년|年|-)\s*(\d{1,2})(?:월|月|-)\s*(\d{1,2})(?:일|日)?\s*(?:(오전|오후|上午|下午|午前|午後)\s*)?(?:(\d{1,2}):(\d{2}):?(\d{2})?)?\s*(.*)$/

/** Parses `2004년 5월 28일 오후 1:31:15`, `2004-05-28 오후 11:23`, `2004年5月28日`. Without a zone, Korean times are Korea's. */
const parseEastAsianDate = (text: string): number | undefined => {
  const match = /[년年오上下午]/.test(text) ? eastAsianDate.exec(text) : null
  if (match === null) return undefined
  const [, year, month, day, half, hour, minute, second, zone] = match
  const afternoon = half !== undefined && /^(?:오후|下午|午後)$/.test(half)
  const written = toNumbers(year, month, day, hour, minute, second)
  return toInstant({
    ...written,
    hour: to24Hours(written.hour, half === undefined ? undefined : afternoon ? "pm" : "am"),
    zone: zone === "" && /[년오]/.test(text) ? "KST" : zone ?? ""
  })
}

/** Parses ISO 8601:1988 without a century: `03-12-31`, `031231`, `-0312`, `-03-12`, and the day of the year in `03335`. */
const parseShortYearDate = (text: string): number | undefined => {
  const day = /^(\d{2})-(\d{2})-(\d{2})$/.exec(text) ?? /^(\d{2})(\d{2})(\d{2})$/.exec(text) ??
    /^-(\d{2})-?(\d{2})$/.exec(text)
  if (day !== null) {
    return toInstant({ ...midnight, year: expandYear(day[1] ?? ""), month: Number(day[2]), day: Number(day[3] ?? 1) })
  }
  const ordinal = /^(\d{2})-?(\d{3})$/.exec(text) ?? /^(\d{4})-(\d{3})$/.exec(text)
  return ordinal === null ? undefined : ordinalToInstant(expandYear(ordinal[1] ?? ""), Number(ordinal[2]))
}

const midnight = { hour: 0, minute: 0, second: 0, zone: "" }

const ordinalToInstant = (year: number, day: number): number | undefined =>
  day < 1 || day > 366 ? undefined : Date.UTC(year, 0, day)

const looseIsoDate =
  /^(\d{4})(?:-?0?(\d{2}|[1-9](?=-))(?:-?(\d{1,2}))?)?(?:(?: ?[Tt] ?| )(\d{1,2})(?::?(\d{2}))?(?::?(\d{2})(?:[.,]\d+)?)? ?(am|pm|a\.m\.|p\.m\.)? ?(.*))?$/i

const parseLooseIsoDate = (text: string): number | undefined => {
  const match = /^\d{5}$|^\d{7}$/.test(text) ? null : looseIsoDate.exec(text)
  if (match === null) return undefined
  const [, year, month, day, hour, minute, second, half, zone] = match
  const written = toNumbers(year, month, day, hour, minute, second)
  return toInstant({ ...written, hour: to24Hours(written.hour, half), zone: zone ?? "" })
}

const slashedDate = /^(?:[\p{L}.]+,? )?(\d{4})\/(\d{1,2})\/(\d{1,2})(?:[ T,-]+(\d{1,2}):(\d{2})(?::(\d{2}))? ?(.*))?$/u

/** Parses `Fri, 2006/09/15 08:19:53 EDT`. */
const parseSlashedDate = (text: string): number | undefined => {
  const match = slashedDate.exec(text)
  if (match === null) return undefined
  const [, year, month, day, hour, minute, second, zone] = match
  return toInstant({ ...toNumbers(year, month, day, hour, minute, second), zone: zone ?? "" })
}
