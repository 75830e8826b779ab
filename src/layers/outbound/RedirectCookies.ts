import { CookieJar } from "tough-cookie"

/** Limits of one fetch. Further cookies and longer ones are ignored. */
const maxCookies = 50
const maxCookieLength = 4_096
const maxTotalLength = 16_384

/**
 * The cookies of one fetch: a redirect sets them, and later requests of the same fetch send them back.
 *
 * Some sites redirect to themselves until the cookie comes back. Each cookie keeps to its domain, path and scheme.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6265#section-5
 */
export class RedirectCookies {
  readonly #jar = new CookieJar(undefined, { looseMode: true, allowSecureOnLocal: false })
  #count = 0
  #length = 0

  /** Adds the `Set-Cookie` fields of a response. A malformed cookie, and a cookie for another site, is ignored. */
  add(fields: string | ReadonlyArray<string>, from: URL): void {
    for (const field of typeof fields === "string" ? [fields] : fields) {
      if (field.length > maxCookieLength || this.#length + field.length > maxTotalLength) continue
      if (++this.#count > maxCookies) return
      this.#length += field.length
      this.#jar.setCookieSync(field, from, { ignoreError: true })
    }
  }

  /** The `Cookie` field of a request; empty without a cookie for this URL. */
  fieldFor(url: URL): string {
    return this.#jar.getCookieStringSync(url)
  }
}
