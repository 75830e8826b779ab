import { ofString } from "#domain/Fingerprint.ts"

const maxSlugLength = 200

/**
 * A URL or title as an id: `http://a.example/1.html` gives `http-a-example-1-html`.
 *
 * Letters beyond ASCII go through their percent-encoding, or two links in another script would give the same id.
 * A long one is cut, and its hash says the rest.
 */
export const toSlug = (value: string): string => {
  const ascii = value.toWellFormed().replace(/[^\0-\x7f]+/g, encodeURIComponent)
  const whole = ascii.toLowerCase().replace(/[^a-z0-9]+/g, "-")
  return whole.length <= maxSlugLength ? whole : `${whole.slice(0, maxSlugLength - 17)}-${hashToHex(value)}`
}

/** The fingerprint of a string, 16 hex digits. */
export const hashToHex = (value: string): string => ofString(value).toString(16).padStart(16, "0")
