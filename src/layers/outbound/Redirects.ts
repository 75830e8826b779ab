/** Redirects that are followed in a row, at most. */
export const maxRedirects = 5

/** Characters of a Location, at most. */
const maxLocation = 8_192

const statuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
const permanent: ReadonlySet<number> = new Set([301, 308])

export const isRedirect = (status: number): boolean => statuses.has(status)
export const isPermanent = (status: number): boolean => permanent.has(status)

/**
 * Where a redirect leads; undefined when that is no http or https URL, or one of unreasonable length.
 *
 * Credentials in a Location are the redirecting server's idea, not the subscriber's: they are dropped. So is the fragment.
 */
export const targetOf = (location: string, from: URL): URL | undefined => {
  if (location.length > maxLocation) return undefined
  const target = httpUrl(decodeBytes(location).trim(), from.href)
  return target === undefined ? undefined : withoutCredentials(target)
}

/** An absolute URL that this service speaks. */
export const httpUrl = (text: string, base?: string): URL | undefined => {
  const url = URL.parse(text, base)
  return url !== null && (url.protocol === "http:" || url.protocol === "https:") ? url : undefined
}

/** Header fields arrive as Latin-1; many servers put UTF-8 into Location. */
const decodeBytes = (location: string): string => {
  if (!/[\x80-\xff]/.test(location)) return location
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(location, "latin1"))
  } catch {
    // Not UTF-8: then Latin-1 was meant.
    return location
  }
}

/** What may be shown, stored and told to others. */
export const withoutCredentials = (url: URL): URL => {
  if (url.username === "" && url.password === "" && url.hash === "") return url
  const shown = new URL(url)
  shown.username = ""
  shown.password = ""
  shown.hash = ""
  return shown
}

/** The value of Authorization for a URL's own credentials. */
export const authorizationOf = (url: URL): string | undefined => {
  if (url.username === "" && url.password === "") return undefined
  return `Basic ${Buffer.from(`${decode(url.username)}:${decode(url.password)}`, "utf8").toString("base64")}`
}

const decode = (part: string): string => {
  try {
    return decodeURIComponent(part)
  } catch {
    // A bare percent sign: taken as it is.
    return part
  }
}

/** Credentials go to the origin that they were given for, and to its https side; never to another host or port, never back to http. */
export const mayReceive = (credentialed: URL, target: URL): boolean =>
  target.origin === credentialed.origin ||
  (target.hostname === credentialed.hostname && target.protocol === "https:" && target.port === "" &&
    credentialed.protocol === "http:" && credentialed.port === "")
