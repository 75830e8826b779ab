/**
 * Escapes a value as character data, and drops characters that are illegal in XML 1.0.
 *
 * Because of one illegal character, a parser rejects the whole notification, or closes the XMPP stream of all subscribers. Lone surrogates
 * become U+FFFD. Control characters, U+FFFE and U+FFFF are dropped. CR becomes a reference, because a parser reads a bare CR as LF.
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

/** Drops characters that are illegal in XML 1.0, without escaping. */
export const dropIllegalCharacters = (value: string): string =>
  value.toWellFormed().replace(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, "")

/** Escapes a value between double quotes, so that a parser does not normalize its white space. */
const escapeAttribute = (value: string): string => {
  const escaped = escapeText(value)
  return /["\t\n]/.test(escaped)
    ? escaped.replaceAll("\"", "&quot;").replaceAll("\t", "&#9;").replaceAll("\n", "&#10;")
    : escaped
}

/** Renders ` name="value"`, or an empty string for an absent value. */
export const renderAttribute = (name: string, value: string | number | undefined): string =>
  value === undefined ? "" : ` ${name}="${escapeAttribute(String(value))}"`

/** Renders `<name>value</name>`, or an empty string for an absent value. */
export const renderElement = (name: string, value: string | number | undefined, attributes = ""): string =>
  value === undefined ? "" : `<${name}${attributes}>${escapeText(String(value))}</${name}>`

/** Renders and joins the items of a list. An absent list gives an empty string. */
export const renderEach = <A>(list: ReadonlyArray<A> | undefined, render: (one: A) => string): string =>
  list === undefined ? "" : list.map(render).join("")

/**
 * Formats a time as RFC 3339 in UTC, with milliseconds only if not zero.
 *
 * `undefined` for years outside of 0 to 9999 and for `NaN`, which have no such form.
 */
export const formatTimestamp = (at: number | undefined): string | undefined => {
  if (at === undefined || !(at >= minTime && at < maxTime)) return undefined
  const iso = new Date(at).toISOString()
  return iso.endsWith(".000Z") ? `${iso.slice(0, -5)}Z` : iso
}

const minTime = Date.parse("0000-01-01T00:00:00Z")
const maxTime = Date.parse("+010000-01-01T00:00:00Z")
