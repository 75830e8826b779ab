/**
 * Scheme, and user name, password and host, of the URLs in a text. A password may hold an `@`.
 *
 * URLs have any number of slashes behind their scheme, backslashes too, and for http none. Slashes in a path begin no host.
 */
const authorities = /\b([a-z][a-z\d+.-]{0,20}:[/\\]{2,64}|https?:[/\\]?)([^/\\?#\s]+)/gi

export const hasCredentials = (url: string): boolean => {
  const parsed = URL.parse(url)
  return parsed !== null && (parsed.username !== "" || parsed.password !== "") ||
    url.matchAll(authorities).some(([, , authority = ""]) => authority.includes("@"))
}

/** The text with `***` in place of the user names and passwords of its URLs. */
export const maskCredentials = (text: string): string =>
  text.replace(authorities, (all, start: string, authority: string) => {
    const at = authority.lastIndexOf("@")
    return at < 0 ? all : `${start}***${authority.slice(at)}`
  })
