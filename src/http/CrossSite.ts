import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import { crossSite, type HttpRejection } from "./HttpRejection.ts"

/**
 * Rejects a request with effects that a page of another site sends with credentials that the browser has stored.
 *
 * Such a page cannot know the credentials, but a form, an image or a link of it makes the browser add them. A script that sets its own
 * `Authorization` header is allowed, because a page needs the credentials for that. So is the parameter `authorization`.
 */
export const rejectCrossSite = (
  request: Pick<HttpServerRequest, "headers" | "method">,
  baseUrl: string,
  action: string
): Effect.Effect<void, HttpRejection> =>
  hasHeaderCredentials(request) && isFromOtherSite(request, baseUrl)
    ? Effect.fail(
      crossSite(
        `A page of another site may not request ${action} with stored credentials. A script of that page has to send JSON ` +
          "with its own Authorization header, and a form the parameter authorization."
      )
    )
    : Effect.void

/** Browsers store Basic credentials and send them in this header alone. */
const hasHeaderCredentials = ({ headers }: Pick<HttpServerRequest, "headers">): boolean =>
  (headers["authorization"] ?? "") !== ""

/**
 * True if a page of another site caused the request without a CORS preflight.
 *
 * Browsers tell the site and the mode over HTTPS and to localhost. Over plain HTTP, a POST has its `Origin`, and a link or an image the
 * `Referer` that its page does not suppress. A GET with an `Origin` is that of a script. Clients that are no browsers send none of them.
 *
 * @see https://www.w3.org/TR/fetch-metadata/
 */
export const isFromOtherSite = (
  { headers, method }: Pick<HttpServerRequest, "headers" | "method">,
  baseUrl: string
): boolean => {
  const site = headers["sec-fetch-site"]
  const mode = headers["sec-fetch-mode"]
  if (site === "same-origin" || site === "none") return false
  if (mode === "cors") return false
  if (site === "cross-site") return true
  const { host, origin, referer } = headers
  if (origin === undefined) return referer !== undefined && isForeignOrigin(referer, host, baseUrl)
  if (method === "GET" || method === "HEAD") return false
  return isForeignOrigin(origin, host, baseUrl) && isSimpleType(headers["content-type"])
}

/**
 * True if a page of this service caused the request, for requests with a cookie. Browsers name the origin of every POST; a client without
 * both headers is no browser.
 */
export const isSameOrigin = ({ headers }: Pick<HttpServerRequest, "headers">, baseUrl: string): boolean => {
  const site = headers["sec-fetch-site"]
  if (site !== undefined) return site === "same-origin"
  const { host, origin } = headers
  if (origin === undefined) return true
  const from = URL.parse(origin)?.host
  return from !== undefined && (from === host?.toLowerCase() || from === new URL(baseUrl).host)
}

/** An origin or a page is own if its host is that of the request or of the base URL. `null` is the origin of a sandboxed page. */
const isForeignOrigin = (origin: string, host: string | undefined, baseUrl: string): boolean => {
  if (!URL.canParse(origin)) return true
  const from = new URL(origin).host
  return from !== host?.toLowerCase() && from !== new URL(baseUrl).host
}

/** Types that a form or a script may send to other sites without a preflight. A missing type is one of them. */
const simpleTypes: ReadonlySet<string> = new Set([
  "",
  "application/x-www-form-urlencoded",
  "multipart/form-data",
  "text/plain"
])

const isSimpleType = (contentType = ""): boolean =>
  simpleTypes.has((contentType.split(";", 1)[0] ?? "").trim().toLowerCase())
