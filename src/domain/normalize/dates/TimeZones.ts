/** Minutes east of Greenwich, by abbreviation. An ambiguous abbreviation has the meaning that is usual in feeds. */
const offsetMinutes: { readonly [abbreviation: string]: number } = {
  z: 0,
  ut: 0,
  utc: 0,
  gmt: 0,
  wet: 0,
  bst: 60,
  ist: 330,
  west: 60,
  cet: 60,
  met: 60,
  mez: 60,
  cest: 120,
  mest: 120,
  mesz: 120,
  eet: 120,
  eest: 180,
  msk: 180,
  msd: 240,
  est: -300,
  edt: -240,
  cst: -360,
  cdt: -300,
  mst: -420,
  mdt: -360,
  pst: -480,
  pdt: -420,
  akst: -540,
  akdt: -480,
  hst: -600,
  ast: -240,
  adt: -180,
  nst: -210,
  ndt: -150,
  jst: 540,
  kst: 540,
  hkt: 480,
  sgt: 480,
  aest: 600,
  aedt: 660,
  acst: 570,
  acdt: 630,
  awst: 480,
  nzst: 720,
  nzdt: 780,
  brt: -180,
  brst: -120,
  art: -180,
  at: -240,
  et: -300,
  ct: -360,
  mt: -420,
  pt: -480,
  sast: 120,
  pkt: 300,
  wib: 420,
  ict: 420,
  a: -60,
  m: -720,
  n: 60,
  y: 720
}

const numericZone = /^(?:(?:GMT|UTC|UT|Z|[A-Z]{3,4})\s*)?([+-])\s*(\d{1,2}):?(\d{2})?(?::?\d{2})?\s*(?:Z|GMT|UTC)?$/i

/** Time of a wall clock. The offset of a named zone depends on this time. */
export interface WallTime {
  readonly year: number
  readonly month: number
  readonly day: number
  readonly hour: number
  readonly minute: number
}

/**
 * Parses a zone into the minutes to subtract from the wall time to get UTC.
 *
 * An absent zone and an unknown abbreviation mean UTC. `undefined` for texts that are no zone.
 */
export const parseZoneOffset = (zone: string, wall: WallTime): number | undefined => {
  const plain = zone.replace(/\s*\([^)]*\)\s*$/, "").trim()
  if (plain === "") return 0
  const numeric = numericZone.exec(plain)
  if (numeric !== null) return parseNumericOffset(numeric)
  if (/^[A-Z]{1,5}$/i.test(plain)) return offsetMinutes[plain.toLowerCase()] ?? 0
  return /^[A-Z_]{2,20}\/[A-Z_/+-]{2,40}\d*$/i.test(plain) ? findPlaceOffset(plain, wall) : undefined
}

const parseNumericOffset = ([, sign, hours, minutes]: ReadonlyArray<string | undefined>): number | undefined => {
  const offset = Number(hours) * 60 + Number(minutes ?? 0)
  return offset > 26 * 60 ? undefined : sign === "-" ? -offset : offset
}

const formatters = new Map<string, Intl.DateTimeFormat | undefined>()
const maxFormatters = 600

/** The offset of a place such as `Europe/Berlin` at a wall time; 0 for an unknown place. */
const findPlaceOffset = (place: string, wall: WallTime): number => {
  const clock = getFormatter(place)
  if (clock === undefined) return 0
  const wallTime = Date.UTC(wall.year, wall.month - 1, wall.day, wall.hour, wall.minute)
  const guess = wallTime - (readWallClock(clock, wallTime) - wallTime)
  return (wallTime - (guess + wallTime - readWallClock(clock, guess))) / 60_000
}

const readWallClock = (clock: Intl.DateTimeFormat, time: number): number => {
  const part = Object.fromEntries(clock.formatToParts(time).map(({ type, value }) => [type, Number(value)]))
  return Date.UTC(part["year"] ?? 0, (part["month"] ?? 1) - 1, part["day"], part["hour"], part["minute"])
}

const getFormatter = (place: string): Intl.DateTimeFormat | undefined => {
  if (!formatters.has(place) && formatters.size < maxFormatters) formatters.set(place, makeFormatter(place))
  return formatters.get(place)
}

const makeFormatter = (timeZone: string): Intl.DateTimeFormat | undefined => {
  try {
    const number = "numeric"
    return new Intl.DateTimeFormat("en-US", {
      timeZone,
      hourCycle: "h23",
      year: number,
      month: number,
      day: number,
      hour: number,
      minute: number
    })
  } catch {
    return undefined // unknown place
  }
}
