import { decodeAs } from "#domain/normalize/bytes/DetectEncoding.ts"
import { siteOf } from "#domain/Topic.ts"

/** Bounds: inspected bytes of a page, and stored characters of a location. */
const maxInspectedBytes = 262_144
const maxLocationLength = 500

/** An answer, possibly after redirects. */
interface RedirectedAnswer {
  readonly finalUrl: string
  readonly permanentUrl?: string
  readonly body: Uint8Array
}

/** The location without a redirect. Another scheme or a leading `www.` counts as no redirect. */
export const sameLocation = ""

/** The end of the redirects: host and path, or `sameLocation`. */
export const locationOf = (requestedUrl: string, finalUrl: string): string => {
  if (finalUrl === requestedUrl) return sameLocation
  const location = hostAndPathOf(finalUrl)
  return location === hostAndPathOf(requestedUrl) ? sameLocation : location
}

const hostAndPathOf = (address: string): string => {
  const { hostname, pathname } = new URL(address)
  return `${hostname.replace(/^www\./, "")}${pathname.replace(/\/$/, "")}`.slice(0, maxLocationLength)
}

/**
 * Whether a login, consent or network page was answered in place of the watched page.
 *
 * Such a page answers 200, so its location decides. The last document (`before`) had no redirect, and now a temporary redirect leads to
 * another site or to a password field. A permanent redirect counts as no login page. A page that was redirected before may be redirected again, for
 * example to the page of the day. `before` is undefined when the last location is unknown.
 */
export const isLoginWall = (requestedUrl: string, before: string | undefined, answer: RedirectedAnswer): boolean => {
  const location = locationOf(requestedUrl, answer.finalUrl)
  if (before !== sameLocation || location === sameLocation || answer.permanentUrl !== undefined) return false
  return siteOfLocation(location) !== siteOfLocation(hostAndPathOf(requestedUrl)) || asksForPassword(answer.body)
}

const siteOfLocation = (location: string): string => siteOf(location.split("/", 1).join())

const passwordField = /<input\s(?:[^<>]{0,1000}?\s)?type\s*=\s*["']?password\b/i

/** HTML tags have the same bytes in all encodings of pages. */
const asksForPassword = (body: Uint8Array): boolean =>
  passwordField.test(decodeAs(body.subarray(0, maxInspectedBytes), "latin1"))
