/** True for an address of this service itself, whatever the scheme: such a subscription would loop. */
export const isOwn = (url: string, baseUrl: string): boolean => {
  const own = new URL(baseUrl)
  return hostAndPortOf(url) === hostAndPortOf(own) && `${pathOf(url)}/`.startsWith(`${pathOf(own).replace(/\/$/, "")}/`)
}

/** The null device: a callback without deliveries. */
export const nullDevice = (baseUrl: string): string => `${baseUrl}/dev/null`

/** True for every spelling of the null device. */
export const isNullDevice = (url: string, baseUrl: string): boolean => isOwn(url, nullDevice(baseUrl))

/**
 * Lease of a subscription to the null device in seconds, from its address (`/dev/null?lease=3600`): a minute to 90 days. Undefined for an
 * unlimited one, as everywhere on the API face. The lease removes subscriptions of vanished subscribers, because the null device is never verified.
 */
export const nullLease = (url: string): number | undefined => {
  const text = new URL(url).searchParams.get("lease") ?? ""
  return /^\d{1,9}$/.test(text) ? Math.min(Math.max(Number(text), 60), 90 * 86_400) : undefined
}

/** Names of `localhost` in URLs: loopback, the unspecified addresses, and both of IPv4 in IPv6. */
const localhostNames: ReadonlySet<string> = new Set([
  "127.0.0.1",
  "0.0.0.0",
  "[::1]",
  "[::]",
  "[::ffff:7f00:1]",
  "[::ffff:0:0]"
])

/** Host and port, without the final dot of a name. */
const hostAndPortOf = (url: string | URL): string => {
  const { hostname, port } = new URL(url)
  const name = hostname.replace(/\.$/, "")
  return `${localhostNames.has(name) ? "localhost" : name}:${port}`
}

/** The path with single slashes: a base URL with a final slash yields double ones. */
export const pathOf = (url: string | URL): string => new URL(url).pathname.replace(/\/{2,}/g, "/")

/** True for a host of an URL or of a server that only this machine reaches. */
export const isLoopbackHost = (host: string): boolean =>
  /^(?:(?:.*\.)?localhost\.?|127(?:\.\d{1,3}){3}|\[?::1\]?|\[?::ffff:7f[0-9a-f]{2}:[0-9a-f]{1,4}\]?)$/i.test(host)
