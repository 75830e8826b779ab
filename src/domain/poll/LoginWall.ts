import { decodeAs } from "#domain/normalize/bytes/DetectEncoding.ts"
import { siteOf } from "#domain/Topic.ts"

/** Bytes of a page that are looked at, and characters of a place that are kept. */
const maxInspectedBytes = 262_144
const maxLocationLength = 500

/** An answer that a redirect has led to, as opposed to the one that was asked for. */
interface RedirectedAnswer {
  readonly finalUrl: string
  readonly permanentUrl?: string
  readonly body: Uint8Array
}

/** What was asked for, be it with another scheme or a `www.` before it: no redirect has led to another place. */
export const sameLocation = ""

/** The place that redirects have led to: host and path, or `here`. */
export const locationOf = (asked: string, finalUrl: string): string => {
  if (finalUrl === asked) return sameLocation
  const there = hostAndPathOf(finalUrl)
  return there === hostAndPathOf(asked) ? sameLocation : there
}

const hostAndPathOf = (address: string): string => {
  const { hostname, pathname } = new URL(address)
  return `${hostname.replace(/^www\./, "")}${pathname.replace(/\/$/, "")}`.slice(0, maxLocationLength)
}

/**
 * Whether a page stands before the one that is watched: of a login, of somebody's consent, of a network.
 *
 * Such a page answers 200, so that its address has to tell: where the last document (`before`) was `here`, a temporary redirect leads to another
 * site, or to a field for a password. A page that moves for good is redirected to permanently; and one that was redirected before may be so again,
 * to the page of the day or another mirror. Undefined: it is not known where the last document was.
 */
export const isLoginWall = (asked: string, before: string | undefined, answer: RedirectedAnswer): boolean => {
  const place = locationOf(asked, answer.finalUrl)
  if (before !== sameLocation || place === sameLocation || answer.permanentUrl !== undefined) return false
  return siteOfLocation(place) !== siteOfLocation(hostAndPathOf(asked)) || asksForPassword(answer.body)
}

const siteOfLocation = (place: string): string => siteOf(place.split("/", 1).join())

const passwordField = /<input\s(?:[^<>]{0,1000}?\s)?type\s*=\s*["']?password\b/i

/** The words of HTML are the same in all encodings that pages have. */
const asksForPassword = (body: Uint8Array): boolean =>
  passwordField.test(decodeAs(body.subarray(0, maxInspectedBytes), "latin1"))
