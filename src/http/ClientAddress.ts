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
