import { Effect, Option, Result } from "effect"
import { Headers, HttpMiddleware, HttpServerRequest } from "effect/http"
import { IpNetwork, NetAddress } from "effect/net"
import type { SettingsValues } from "#domain/ports/Settings.ts"

type Request = HttpServerRequest.HttpServerRequest

/** Maximum characters of a login in the header. */
const maxLength = 63

/**
 * Middleware that removes the header of a proxy's login from all requests but those of the trusted proxies.
 *
 * The peer of the connection counts, never an address that a header names: every client can send `X-Forwarded-For`.
 */
export const removeForeignLogins = (header: string, trusted: ReadonlyArray<IpNetwork.IpNetwork>) => {
  const isTrusted = (address: string): boolean => {
    const ip = NetAddress.ipFromString(address)
    return Result.isSuccess(ip) &&
      trusted.some((network) => IpNetwork.contains(network, NetAddress.toCanonical(ip.success)))
  }
  const clean = (request: Request): Request => {
    if (request.headers[header] === undefined) return request
    if (isTrusted(Option.getOrElse(request.peerAddress, () => ""))) return request
    return request.modify({ headers: Headers.remove(request.headers, header) })
  }
  return HttpMiddleware.make((handler) => Effect.updateService(handler, HttpServerRequest.HttpServerRequest, clean))
}

/** The login that a trusted proxy names; undefined without one. A header that arrived twice names none. */
export const readProxyLogin = (
  { headers }: Pick<Request, "headers">,
  { proxyLoginHeader }: Pick<SettingsValues, "proxyLoginHeader">
): string | undefined => {
  const login = proxyLoginHeader === undefined ? undefined : headers[proxyLoginHeader]?.trim()
  return login === undefined || login === "" || login.length > maxLength ? undefined : login
}
