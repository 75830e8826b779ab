import { mayBeWeekday, parseMonth } from "./MonthNames.ts"
import { expandYear, to24Hours, toInstant } from "./Instant.ts"

const timePattern =
  /(?:^|[\sT,-])(\d{1,2})[:.h](\d{1,2})(?:[:.](\d{1,2})(?:\.\d+)?)?(:\d+)? ?((?:a\.?m|p\.?m)\.?(?![a-z]))?(?= |$|[A-Z+-])/i
const zonePattern = / ((?:GMT|UTC|UT|Z|[ECMP][SD]T|CEST?)(?:[+-]\d{1,2}:?\d{0,2})?)$/i

interface TimeMatch {
  readonly hour: number
  readonly minute: number
  readonly second: number
  readonly zone: string
  /** The rest of the text, with the date. */
  readonly rest: string
}

/** Parses a date by its words: weekday, day, month, year, time and zone, in any order and many languages. White space is collapsed. */
export const parseFreeDate = (text: string): number | undefined => {
  const clock = parseTime(text.replace(/ ?\([^)]*\)$/, ""))
  if (clock === undefined) return undefined
  const day = parseDay(clock.rest)
  return day === undefined ? undefined : toInstant({ ...clock, ...day })
}

const midnight = { hour: 0, minute: 0, second: 0 }

/** Finds the time in a text; `undefined` for a fourth number after the seconds. */
const parseTime = (text: string): TimeMatch | undefined => {
  const match = timePattern.exec(text)
  if (match === null || isDottedDate(text, match)) {
    const zone = zonePattern.exec(text)
    return zone === null
      ? { ...midnight, zone: "", rest: text }
      : { ...midnight, zone: zone[1] ?? "", rest: text.slice(0, zone.index) }
  }
  const [whole, hour, minute, second, excess, half] = match
  if (excess !== undefined) return undefined
  const before = text.slice(0, match.index).replace(/ ?\b(?:at|um|às|à|a las|alle|ore)$/i, "")
  const { year, zone } = findYearAfterTime(text.slice(match.index + whole.length).trim(), before)
  const oddMidnight = Number(hour) === 24
  return {
    hour: oddMidnight ? (Number(minute) > 0 ? 0 : 24) : to24Hours(Number(hour), half),
    minute: Number(minute),
    second: Number(second ?? 0),
    zone,
    rest: `${before} ${year}`
  }
}

/** Whether the match is a date such as `31.12.2003`. */
const isDottedDate = (text: string, match: RegExpExecArray): boolean =>
  /^[\sT,-]?\d{1,2}\.\d{1,2}\.\d{2,4}/.test(text.slice(match.index))

/** Finds a year after the time, as in asctime and Twitter: `Thu Aug 30 17:26:16 +0200 2012`, `Sun Jan 4 16:29:06 PST 2004`. */
const findYearAfterTime = (tail: string, before: string): { readonly year: string; readonly zone: string } => {
  const match = /(?:^| )(\d{4})$/.exec(tail) ?? /^(\d{4})(?: |$)/.exec(tail)
  if (match === null || /\b\d{4}\b/.test(before)) return { year: "", zone: tail }
  return { year: match[1] ?? "", zone: tail.replace(match[1] ?? "", "").trim() }
}

interface DateParts {
  year: number | undefined
  month: number | undefined
  day: number | undefined
}

const fillerWord = /^(?:de|del|of|the|le|am|um|den|a|à|at|d|r|г|-)$/i

/** Parses the day; `undefined` when a word is neither part of a date nor a weekday. */
const parseDay = (text: string): { year: number; month: number; day: number } | undefined => {
  const found: DateParts = { year: undefined, month: undefined, day: undefined }
  const numbers: Array<string> = []
  for (const word of text.split(/[\s,]+/)) {
    const token = word.replace(/\.+$/, "")
    if (token === "" || fillerWord.test(token) || readCompound(token, found)) continue
    const number = /^(\d{1,4})(?:st|nd|rd|th|er|º|ª)?$/i.exec(token)
    if (number !== null) numbers.push(number[1] ?? "")
    else if (!readWord(token, numbers.length, found)) return undefined
  }
  assignNumbers(numbers, found)
  const { year, month, day = numbers.length > 1 ? undefined : 1 } = found
  return year === undefined || month === undefined || day === undefined ? undefined : { year, month, day }
}

/** Reads a word: the month, a weekday before all numbers, or a word after the date. */
const readWord = (token: string, numbers: number, found: DateParts): boolean => {
  const month = parseMonth(token)
  if (month !== undefined) {
    if (found.month === undefined || numbers > 0 || mayBeWeekday(token)) found.month = month
    return true
  }
  return /^[\p{L}.']+$/u.test(token) && (numbers === 0) === (found.month === undefined)
}

const numericDate = /^(\d{1,4})[/.-](\d{1,2})[/.-](\d{1,4})$/
const dateWithMonthName = /^(\d{1,4})[-/.]([\p{L}]+)\.?[-/.](\d{1,4})$/u

/** Reads `9/15/2006`, `15.9.2006`, `15-Sep-06`, `2004-július-13`. */
const readCompound = (token: string, found: DateParts): boolean => {
  const mixed = dateWithMonthName.exec(token)
  const month = mixed === null ? undefined : parseMonth(mixed[2] ?? "")
  if (mixed !== null && month !== undefined) {
    const [first = "", last = ""] = [mixed[1], mixed[3]]
    const yearFirst = first.length === 4
    Object.assign(found, { year: expandYear(yearFirst ? first : last), month, day: Number(yearFirst ? last : first) })
    return true
  }
  const digits = numericDate.exec(token)
  if (digits !== null) {
    Object.assign(found, orderNumericDate(token, digits[1] ?? "", Number(digits[2]), digits[3] ?? ""))
  }
  return digits !== null
}

/** With slashes the month comes first, as in America, unless the number is above 12. */
const orderNumericDate = (token: string, first: string, second: number, third: string): DateParts => {
  if (first.length === 4) return { year: Number(first), month: second, day: Number(third) }
  const a = Number(first)
  const monthFirst = token.includes("/") ? a <= 12 : second > 12
  return { year: expandYear(third), month: monthFirst ? a : second, day: monthFirst ? second : a }
}

/** Assigns bare numbers to year, day and month, in document order. */
const assignNumbers = (numbers: ReadonlyArray<string>, found: DateParts): void => {
  for (const digits of numbers) {
    const value = Number(digits)
    if (digits.length >= 3 && found.year === undefined) found.year = value
    else if (found.day === undefined && value >= 1 && value <= 31 && digits.length <= 2) found.day = value
    else if (found.month === undefined && digits.length <= 2 && value <= 12) found.month = value
    else if (found.year === undefined) found.year = expandYear(digits)
  }
}
