import { basePathOf } from "./BasePath.ts"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"

type Head = Pick<HttpServerRequest, "headers" | "protocol">

/**
 * Protection of the connection to the browser.
 *
 * `https`: a trusted proxy names HTTPS, or the base URL is HTTPS and has the host of the request. `local`: this machine, which browsers
 * trust like HTTPS. `none`: everybody on the way can read the cookie.
 */
export const protectionOf = ({ headers, protocol }: Head, baseUrl: string): "https" | "local" | "none" => {
  const host = headers["host"]?.toLowerCase() ?? ""
  const base = new URL(baseUrl)
  if (protocol === "https" || (base.protocol === "https:" && base.host === host)) return "https"
  const name = host.replace(/:\d+$/, "")
  return name === "localhost" || name.endsWith(".localhost") || name === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(name)
    ? "local"
    : "none"
}

/**
 * Name of the cookie `suffix`. Browsers take the prefix `__Host-` over HTTPS and from localhost alone, and from no other host.
 *
 * The prefix requires the path `/`. The name has the base path instead, so that two services of one host do not end each other's sessions.
 */
export const cookieName = (request: Head, baseUrl: string, suffix = ""): string =>
  `${protectionOf(request, baseUrl) === "none" ? "" : "__Host-"}windhover${
    basePathOf(baseUrl).replaceAll("/", "-")
  }${suffix}`
