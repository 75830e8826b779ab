import ipaddr from "ipaddr.js"

/**
 * Addresses and ports that Windhover never connects to, unless the operator allows private addresses.
 *
 * The guard judges the address that is about to be dialled, never a name or the look of a URL. URL parsing turns odd literals (decimal,
 * octal, hex) into dotted quads. Each name is resolved once per connection, so DNS rebinding has no effect.
 */
export interface AddressGuard {
  /** Why this IP address is forbidden, as the end of a sentence ("a loopback address"); undefined = allowed. */
  readonly explainAddress: (address: string) => string | undefined
  /** Why this TCP port is forbidden, in the same form. */
  readonly explainPort: (port: number) => string | undefined
}

/** Allows global unicast IPv4, and 2000::/3 without its special ranges. */
export const publicAddressesOnly: AddressGuard = {
  explainAddress: (address) => {
    if (!ipaddr.isValid(address)) return "not an IP address"
    const ip = ipaddr.parse(address)
    const range: string = ip.range()
    if (range !== "unicast") return rangeTexts[range] ?? `an address of special use (${range})`
    if (metadataAddresses.has(address)) return "an address of a cloud's metadata service"
    return ip.kind() === "ipv6" && !ip.match(globalUnicast) ? rangeTexts.reserved : undefined
  },
  explainPort: (port) => foreignPorts.has(port) ? `port ${port} belongs to another protocol than HTTP` : undefined
}

/** Addresses outside of the private ranges that a cloud's own machines answer. The other clouds use link-local and private ones. */
const metadataAddresses: ReadonlySet<string> = new Set(["168.63.129.16"])

export interface PublicGuardOptions {
  /** True for an address under which clients reach this service. */
  readonly isOwnAddress: (address: string) => boolean
  /** Networks (`10.0.3.0/24`) that are allowed, whatever else the guard refuses. */
  readonly allowedNetworks: ReadonlyArray<string>
}

/**
 * `publicAddressesOnly` without the addresses of this service, and with the networks that the operator allows.
 *
 * A stranger's name with the address of this service would make Windhover ask or notify itself, in loops and behind its firewall.
 */
export const makePublicGuard = ({ allowedNetworks, isOwnAddress }: PublicGuardOptions): AddressGuard => {
  const allowed = allowedNetworks.map((network) => ipaddr.parseCIDR(network))
  const isAllowed = (address: string): boolean => {
    if (allowed.length === 0 || !ipaddr.isValid(address)) return false
    const ip = ipaddr.parse(address)
    return allowed.some(([network, bits]) => ip.kind() === network.kind() && ip.match(network, bits))
  }
  return {
    explainAddress: (address) => {
      if (isAllowed(address)) return undefined
      return publicAddressesOnly.explainAddress(address) ??
        (isOwnAddress(address) ? "an address of this service itself" : undefined)
    },
    explainPort: publicAddressesOnly.explainPort
  }
}

/** One spelling for each address, without the zone of a link-local one. An invalid address stays unchanged. */
export const normalizeAddress = (address: string): string => {
  const plain = address.replace(/%.*$/, "")
  return ipaddr.isValid(plain) ? ipaddr.parse(plain).toNormalizedString() : address
}

/** Allows any address, for the demo, tests and trusted networks. Ports of other protocols stay closed. */
export const anyAddress: AddressGuard = {
  explainAddress: () => undefined,
  explainPort: publicAddressesOnly.explainPort
}

/** The IPv6 space that IANA assigns. The rest includes the IPv4-compatible `::127.0.0.1`. */
const globalUnicast = ipaddr.parseCIDR("2000::/3")

/** Texts for the range names of ipaddr.js. */
const rangeTexts: Readonly<Record<string, string>> = {
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

/**
 * The "bad ports" of the WHATWG Fetch standard: servers of mail, remote login, IRC and others could misread an HTTP request there.
 *
 * @see https://fetch.spec.whatwg.org/#port-blocking
 */
const foreignPorts: ReadonlySet<number> = new Set(
  [
    "0 1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113 115",
    "117 119 123 135 137 139 143 161 179 389 427 465 512 513 514 515 526 530 531 532 540 548 554 556 563",
    "587 601 636 989 990 993 995 1719 1720 1723 2049 3659 4045 4190 5060 5061 6000 6566 6665 6666 6667",
    "6668 6669 6679 6697 10080"
  ].flatMap((line) => line.split(" ").map(Number))
)
