import { Option } from "effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import { networksOf } from "#domain/limits/IpNetwork.ts"

/** The client's address; the address that a trusted proxy names, for requests through that proxy. */
export const rawClientAddress = (request: HttpServerRequest): string =>
  Option.getOrElse(request.remoteAddress, () => "")

/**
 * The client's address as a key for limits. An IPv6 address stands for its /64 network, because one host can use 2^64 addresses.
 */
export const clientAddress = (request: HttpServerRequest): string => networkOf(rawClientAddress(request))

/** An address as a key for limits, see `clientAddress`. */
export const networkOf = (address: string): string => networksOf(address)?.host ?? address

/** True for a request from this machine. A request that a local proxy passes on comes from another machine. */
export const isLocal = ({ headers, remoteAddress }: HttpServerRequest): boolean =>
  /^(127\.\d+\.\d+\.\d+|::1|::ffff:127\.\d+\.\d+\.\d+)$/.test(Option.getOrElse(remoteAddress, () => "")) &&
  proxyHeaders.every((name) => headers[name] === undefined)

const proxyHeaders = ["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip"]
