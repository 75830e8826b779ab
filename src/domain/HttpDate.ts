/** Behind an HTTP date: a name of the zone, or how far it is from GMT. */
const zoned = /(?:[A-Za-z]|[+-]\d\d:?\d\d)$/

/**
 * The time in a header field, epoch ms, in any of the three forms of RFC 9110 (5.6.7), or another that names a time of the day; undefined for
 * everything else.
 *
 * `Date.parse` alone takes `12.5` for the 5th of December and `9999` for a year, and reads the form of asctime, which names no zone, in that of the machine.
 */
export const httpDate = (text: string): number | undefined => {
  const time = text.trim()
  if (!/\d:\d\d/.test(time)) return undefined
  const at = Date.parse(zoned.test(time) ? time : `${time} GMT`)
  return Number.isNaN(at) ? undefined : at
}
