/** Redirects that a fetch follows in a row. */
export const maxRedirects = 5

const maxLocationLength = 8_192

const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
const permanentStatuses: ReadonlySet<number> = new Set([301, 308])

export const isRedirect = (status: number): boolean => redirectStatuses.has(status)
export const isPermanent = (status: number): boolean => permanentStatuses.has(status)

/**
 * Resolves the target of a redirect; undefined for a Location that is too long or is no http or https URL.
 *
 * Drops the fragment, and credentials in the Location: these come from the redirecting server, not from the subscriber.
 */
export const redirectTarget = (location: string, from: URL): URL | undefined => {
  if (location.length > maxLocationLength) return undefined
  const target = parseHttpUrl(decodeUtf8(location).trim(), from.href)
  return target === undefined ? undefined : withoutCredentials(target)
}

/**
 * Values of Location that lead to different addresses. Some proxies repeat the field, and repeats with one target count as one.
 *
 * A URL that cannot be used counts by its text.
 */
export const distinctLocations = (
  location: string | ReadonlyArray<string> | undefined,
  from: URL
): ReadonlyArray<string> => {
  const byTarget = new Map<string, string>()
  for (const value of [location ?? []].flat()) {
    const target = redirectTarget(value, from)?.href ?? value
    if (value !== "" && !byTarget.has(target)) byTarget.set(target, value)
  }
  return [...byTarget.values()]
}

/** An absolute http or https URL. */
export const parseHttpUrl = (text: string, base?: string): URL | undefined => {
  const url = URL.parse(text, base)
  return url !== null && (url.protocol === "http:" || url.protocol === "https:") ? url : undefined
}

/** Header fields arrive as Latin-1, but many servers put UTF-8 into Location. */
const decodeUtf8 = (location: string): string => {
  if (!/[\x80-\xff]/.test(location)) return location
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(location, "latin1"))
  } catch {
    // Invalid UTF-8 means that the server sent Latin-1.
    return location
  }
}

/** A URL without credentials and fragment, safe to show and store. */
export const withoutCredentials = (url: URL): URL => {
  if (url.username === "" && url.password === "" && url.hash === "") return url
  const shown = new URL(url)
  shown.username = ""
  shown.password = ""
  shown.hash = ""
  return shown
}

/** Authorization header for the credentials of a URL. */
export const authorizationOf = (url: URL): string | undefined => {
  if (url.username === "" && url.password === "") return undefined
  const credentials = `${decodePercent(url.username)}:${decodePercent(url.password)}`
  return `Basic ${Buffer.from(credentials, "utf8").toString("base64")}`
}

const decodePercent = (part: string): string => {
  try {
    return decodeURIComponent(part)
  } catch {
    // A bare percent sign stays as written.
    return part
  }
}

/** Credentials go to their own origin and to its https side. Other hosts, other ports and http after https never receive credentials. */
export const mayReceiveCredentials = (credentialed: URL, target: URL): boolean =>
  target.origin === credentialed.origin ||
  (target.hostname === credentialed.hostname && target.protocol === "https:" && target.port === "" &&
    credentialed.protocol === "http:" && credentialed.port === "")
