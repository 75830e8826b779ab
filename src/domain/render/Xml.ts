/**
 * The value as character data: markup escaped, and without what XML 1.0 forbids even when escaped.
 *
 * One illegal character makes a parser refuse the whole notification, and closes an XMPP stream that all subscribers share.
 * Lone surrogates become U+FFFD; control characters and U+FFFE, U+FFFF are dropped. CR is kept as a reference: a parser would read it as LF.
 */
export const escapeText = (value: string): string => {
  const whole = value.isWellFormed() ? value : value.toWellFormed()
  let out = ""
  let start = 0
  for (let at = 0; at < whole.length; at++) {
    const unit = whole.charCodeAt(at)
    if (unit > 62 && unit < 0xfffe) continue
    const instead = replaceUnit(unit)
    if (instead === undefined) continue
    out += whole.slice(start, at) + instead
    start = at + 1
  }
  return start === 0 ? whole : out + whole.slice(start)
}

const replaceUnit = (unit: number): string | undefined => {
  if (unit === 38) return "&amp;"
  if (unit === 60) return "&lt;"
  if (unit === 62) return "&gt;"
  if (unit === 13) return "&#13;"
  return unit < 32 && unit !== 9 && unit !== 10 || unit >= 0xfffe ? "" : undefined
}

/** The value without what XML 1.0 forbids, not escaped. */
export const dropIllegalCharacters = (value: string): string =>
  value.toWellFormed().replace(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, "")

/** The value between the double quotes of an attribute; white space is kept from being normalised. */
const escapeAttribute = (value: string): string => {
  const escaped = escapeText(value)
  return /["\t\n]/.test(escaped)
    ? escaped.replaceAll("\"", "&quot;").replaceAll("\t", "&#9;").replaceAll("\n", "&#10;")
    : escaped
}

/** ` name="value"`, or nothing when there is no value. */
export const renderAttribute = (name: string, value: string | number | undefined): string =>
  value === undefined ? "" : ` ${name}="${escapeAttribute(String(value))}"`

/** `<name>value</name>`, or nothing when there is no value. */
export const renderElement = (name: string, value: string | number | undefined, attributes = ""): string =>
  value === undefined ? "" : `<${name}${attributes}>${escapeText(String(value))}</${name}>`

/** Each of a list, rendered and joined; nothing when there is none. */
export const renderEach = <A>(list: ReadonlyArray<A> | undefined, render: (one: A) => string): string =>
  list === undefined ? "" : list.map(render).join("")

/**
 * RFC 3339 in UTC, with milliseconds only when there are some.
 *
 * `undefined` for what has no such form (beyond year 9999, no number): a date that cannot be said is absent.
 */
export const formatTimestamp = (at: number | undefined): string | undefined => {
  if (at === undefined || !(at >= minTime && at < maxTime)) return undefined
  const iso = new Date(at).toISOString()
  return iso.endsWith(".000Z") ? `${iso.slice(0, -5)}Z` : iso
}

const minTime = Date.parse("0000-01-01T00:00:00Z")
const maxTime = Date.parse("+010000-01-01T00:00:00Z")
