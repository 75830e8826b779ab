import { siteOf } from "#domain/Topic.ts"

/** The networks of one address, as keys of limits. */
export interface IpNetworks {
  /** IPv4 address, or the /64 of an IPv6 address: one host can use 2^64 addresses. */
  readonly host: string
  /** The /24 of an IPv4 address, or the /48 of an IPv6 address: one customer often owns that many. */
  readonly customer: string
}

const ipv4 = /^\d{1,3}(?:\.\d{1,3}){3}$/

/** The networks of an IP address, with or without brackets; undefined for a name. An IPv4-mapped address counts as IPv4. */
export const networksOf = (text: string): IpNetworks | undefined => {
  const address = text.replace(/^\[|(?:%.*)?\]?$/g, "").replace(/^::ffff:(?=\d+\.)/i, "")
  if (ipv4.test(address)) return ipv4Networks(address)
  if (!/^[\da-f:]*:[\da-f:]*$/i.test(address)) return undefined
  const groups = expandGroups(address)
  const mapped = groups.slice(0, 6).join(":") === "0:0:0:0:0:ffff"
  if (mapped) return ipv4Networks(groups.slice(6).flatMap(toBytes).join("."))
  return { host: `${groups.slice(0, 4).join(":")}::/64`, customer: `${groups.slice(0, 3).join(":")}::/48` }
}

const ipv4Networks = (address: string): IpNetworks => ({
  host: address,
  customer: `${address.slice(0, address.lastIndexOf("."))}.0/24`
})

/** The eight groups of an IPv6 address, without leading zeros. */
const expandGroups = (address: string): ReadonlyArray<string> => {
  const [head = "", tail] = address.split("::")
  const groups = head === "" ? [] : head.split(":")
  const rest = tail === undefined || tail === "" ? [] : tail.split(":")
  const zeros = tail === undefined
    ? []
    : Array.from({ length: Math.max(8 - groups.length - rest.length, 0) }, () => "0")
  return [...groups, ...zeros, ...rest].map((group) => Number.parseInt(group, 16).toString(16))
}

const toBytes = (group: string): ReadonlyArray<number> => {
  const value = Number.parseInt(group, 16)
  return [value >> 8, value & 255]
}

/** The owner of a host for limits: the customer's network of an address, or the registrable domain of a name. */
export const ownerOf = (host: string): string => networksOf(host)?.customer ?? siteOf(host)
