import ipaddr from "ipaddr.js"
import { KeyedCounter } from "#domain/collections/KeyedCounter.ts"

export interface ConnectionLimitsOptions {
  /** Open connections of one public address. */
  readonly maxPerAddress: number
  /** Open connections of all addresses. */
  readonly maxTotal: number
}

/** Address ranges from which a reverse proxy may connect. */
const proxyRanges: ReadonlySet<string> = new Set([
  "loopback",
  "private",
  "uniqueLocal",
  "linkLocal",
  "carrierGradeNat"
])

/**
 * Limits open connections, because the database and the fetches need file descriptors, too.
 *
 * Private addresses and known proxies count towards the total only: a reverse proxy carries the connections of many clients. An IPv6 /64
 * network counts as one address.
 */
export class ConnectionLimits {
  readonly #connections: KeyedCounter
  readonly #isProxy: (address: string) => boolean

  constructor({ maxPerAddress, maxTotal }: ConnectionLimitsOptions, isProxy: (address: string) => boolean) {
    this.#connections = new KeyedCounter({ maxPerKey: maxPerAddress, maxTotal })
    this.#isProxy = isProxy
  }

  /** Counts a connection and returns the function that ends it; undefined beyond a limit. */
  tryEnter(address: string): (() => void) | undefined {
    const key = this.#keyOf(address)
    return this.#connections.tryAdd(key) ? () => void this.#connections.remove(key) : undefined
  }

  #keyOf(address: string): string | undefined {
    if (!ipaddr.isValid(address) || this.#isProxy(address)) return undefined
    const parsed = ipaddr.process(address)
    if (proxyRanges.has(parsed.range())) return undefined
    return parsed.kind() === "ipv6"
      ? `${parsed.toNormalizedString().split(":").slice(0, 4).join(":")}::`
      : parsed.toString()
  }
}
