import ipaddr from "ipaddr.js"

/**
 * Where Windhover never connects to, unless the operator allows private addresses.
 *
 * Decided on the address that is about to be dialled, never on a name or on what a URL looks like: odd literals (decimal, octal, hex) are
 * dotted quads once the URL is parsed, and a name that answers differently the second time (rebinding) is asked only once.
 */
export interface Guard {
  /** Why this IP address must not be connected to, as the end of a sentence ("a loopback address"); undefined = it may. */
  readonly address: (address: string) => string | undefined
  /** The same for a TCP port. */
  readonly port: (port: number) => string | undefined
}

/** Only global unicast IPv4, and 2000::/3 less its special parts. */
export const publicOnly: Guard = {
  address: (address) => describe(address),
  port: (port) => describePort(port)
}

/** The demo, tests, a trusted network: any address. Ports of other protocols stay closed. */
export const anywhere: Guard = { address: () => undefined, port: publicOnly.port }

const describe = (address: string): string | undefined => {
  if (!ipaddr.isValid(address)) return "not an IP address"
  const ip = ipaddr.parse(address)
  const range: string = ip.range()
  if (range !== "unicast") return words[range] ?? `an address of special use (${range})`
  return ip.kind() === "ipv6" && !ip.match(globalUnicast) ? words.reserved : undefined
}

/** What IANA has given out of the IPv6 space; the rest holds, among others, the IPv4-compatible `::127.0.0.1`. */
const globalUnicast = ipaddr.parseCIDR("2000::/3")

/** The address ranges' names in ipaddr.js, in words. */
const words: Readonly<Record<string, string>> = {
  unspecified: "an address of this machine (unspecified)",
  broadcast: "a broadcast address",
  multicast: "a multicast address",
  linkLocal: "a link-local address",
  loopback: "a loopback address",
  carrierGradeNat: "a carrier-grade NAT address",
  private: "a private address",
  uniqueLocal: "a private address (unique local)",
  deprecatedSiteLocal: "a private address (site-local)",
  ipv4Mapped: "an IPv4-mapped address",
  rfc6145: "an IPv4-translated address",
  rfc6052: "a NAT64 address",
  "6to4": "a 6to4 address",
  teredo: "a Teredo address",
  reserved: "a reserved address (documentation, tests or future use)",
  benchmarking: "a benchmarking address"
}

const describePort = (port: number): string | undefined =>
  foreignPorts.has(port) ? `port ${port} belongs to another protocol than HTTP` : undefined

/**
 * The "bad ports" of the WHATWG Fetch standard: a request there could be taken for mail, a remote login, IRC …
 *
 * @see https://fetch.spec.whatwg.org/#port-blocking
 */
const foreignPorts: ReadonlySet<number> = new Set([
  0,
  1,
  7,
  9,
  11,
  13,
  15,
  17,
  19,
  20,
  21,
  22,
  23,
  25,
  37,
  42,
  43,
  53,
  69,
  77,
  79,
  87,
  95,
  101,
  102,
  103,
  104,
  109,
  110,
  111,
  113,
  115,
  117,
  119,
  123,
  135,
  137,
  139,
  143,
  161,
  179,
  389,
  427,
  465,
  512,
  513,
  514,
  515,
  526,
  530,
  531,
  532,
  540,
  548,
  554,
  556,
  563,
  587,
  601,
  636,
  989,
  990,
  993,
  995,
  1719,
  1720,
  1723,
  2049,
  3659,
  4045,
  4190,
  5060,
  5061,
  6e3,
  6566,
  6665,
  6666,
  6667,
  6668,
  6669,
  6679,
  6697,
  10080
])
