/** Whether an address is this service's own, or below it: it would subscribe to itself. The scheme does not matter. */
export const isOwn = (url: string, baseUrl: string): boolean => {
  const own = new URL(baseUrl)
  return hostAndPortOf(url) === hostAndPortOf(own) && `${pathOf(url)}/`.startsWith(`${pathOf(own).replace(/\/$/, "")}/`)
}

/** The callback that nothing is delivered to. */
export const nullDevice = (baseUrl: string): string => `${baseUrl}/dev/null`

/** Whether a callback is the null device, however it is spelled. */
export const isNullDevice = (url: string, baseUrl: string): boolean => isOwn(url, nullDevice(baseUrl))

/**
 * Seconds for which a subscription to the null device lasts, when its address names them (`/dev/null?lease=3600`): a minute up to 90 days. Undefined: for ever, as all on the
 * API. Nobody is asked there, so that who subscribed and vanished would leave it behind.
 */
export const nullLease = (url: string): number | undefined => {
  const text = new URL(url).searchParams.get("lease") ?? ""
  return /^\d{1,9}$/.test(text) ? Math.min(Math.max(Number(text), 60), 90 * 86_400) : undefined
}

/** Other names of `localhost`, as URLs have them: loopback, the unspecified addresses, and both of IPv4 in IPv6. */
const localhostNames: ReadonlySet<string> = new Set([
  "127.0.0.1",
  "0.0.0.0",
  "[::1]",
  "[::]",
  "[::ffff:7f00:1]",
  "[::ffff:0:0]"
])

/** Host and port; a name that ends in a dot is the same one. */
const hostAndPortOf = (url: string | URL): string => {
  const { hostname, port } = new URL(url)
  const name = hostname.replace(/\.$/, "")
  return `${localhostNames.has(name) ? "localhost" : name}:${port}`
}

/** A base URL that ends in a slash makes two of it in what is put together from it; they are served as one. */
const pathOf = (url: string | URL): string => new URL(url).pathname.replace(/\/{2,}/g, "/")
