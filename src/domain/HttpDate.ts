/** The end of a date with a zone: its name, or its offset from GMT. */
const zoned = /(?:[A-Za-z]|[+-]\d\d:?\d\d)$/

/**
 * Parses the date of a header field into epoch ms: the three forms of RFC 9110 (5.6.7), and other forms with a time of day. Undefined for
 * all other texts.
 *
 * `Date.parse` alone takes `12.5` for the 5th of December and `9999` for a year, and reads the form of asctime, which names no zone, in that of the machine.
 */
export const httpDate = (text: string): number | undefined => {
  const time = text.trim()
  if (!/\d:\d\d/.test(time)) return undefined
  const at = Date.parse(zoned.test(time) ? time : `${time} GMT`)
  return Number.isNaN(at) ? undefined : at
}
