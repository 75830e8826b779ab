import { Option } from "effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import { isIPv6 } from "node:net"

/**
 * The client's address as a key for limits. An IPv6 address stands for its /64 network, because one host can use 2^64 addresses.
 */
export const clientAddress = (request: HttpServerRequest): string =>
  networkOf(Option.getOrElse(request.remoteAddress, () => ""))

/** An address as a key for limits, see `clientAddress`. */
export const networkOf = (address: string): string =>
  isIPv6(address) && !address.includes(".") ? networkPrefixOf(address) : address

const networkPrefixOf = (address: string): string => {
  const [head = "", tail] = address.split("::")
  const groups = head === "" ? [] : head.split(":")
  const rest = tail === undefined || tail === "" ? [] : tail.split(":")
  const zeros = Array.from({ length: 8 - groups.length - rest.length }, () => "0")
  return [...groups, ...(tail === undefined ? [] : zeros), ...rest].slice(0, 4).join(":")
}
