import { hashString, toHex } from "#domain/Fingerprint.ts"

const maxSlugLength = 200

/**
 * Makes an id of a URL or title: `http://a.example/1.html` gives `http-a-example-1-html`.
 *
 * Letters beyond ASCII become their percent-encoding, so that two links in another script differ. A hash replaces the end of a long id.
 */
export const toSlug = (value: string): string => {
  const ascii = value.toWellFormed().replace(/[^\0-\x7f]+/g, encodeURIComponent)
  const whole = ascii.toLowerCase().replace(/[^a-z0-9]+/g, "-")
  return whole.length <= maxSlugLength ? whole : `${whole.slice(0, maxSlugLength - 17)}-${hashToHex(value)}`
}

/** The fingerprint of a string as 16 hex digits. */
export const hashToHex = (value: string): string => toHex(hashString(value))
