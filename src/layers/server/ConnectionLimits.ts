import ipaddr from "ipaddr.js"

/** Connections that are open at once, of one address of the public internet and of all. */
export interface ConnectionLimitsOptions {
  readonly each: number
  readonly all: number
}

/** Ranges of addresses from which a reverse proxy may connect. */
const local: ReadonlySet<string> = new Set(["loopback", "private", "uniqueLocal", "linkLocal", "carrierGradeNat"])

/**
 * Counts connections, so that their files do not run out, which the database and the fetching need as well.
 *
 * Addresses that are not public are counted for all only: a reverse proxy has the connections of everybody. Of IPv6, a network is one address.
 */
export class ConnectionLimits {
  readonly #limits: ConnectionLimitsOptions
  readonly #isProxy: (address: string) => boolean
  readonly #of = new Map<string, number>()
  #all = 0

  constructor(limits: ConnectionLimitsOptions, isProxy: (address: string) => boolean) {
    this.#limits = limits
    this.#isProxy = isProxy
  }

  /** Gives what to do when the connection is closed; undefined when there are too many. */
  enter(address: string): (() => void) | undefined {
    if (this.#all >= this.#limits.all) return undefined
    const key = this.#keyOf(address)
    const count = key === undefined ? 0 : this.#of.get(key) ?? 0
    if (count >= this.#limits.each) return undefined
    this.#all++
    if (key === undefined) return () => void this.#all--
    this.#of.set(key, count + 1)
    return () => {
      this.#all--
      const left = (this.#of.get(key) ?? 0) - 1
      if (left > 0) this.#of.set(key, left)
      else this.#of.delete(key)
    }
  }

  #keyOf(address: string): string | undefined {
    if (!ipaddr.isValid(address) || this.#isProxy(address)) return undefined
    const read = ipaddr.process(address)
    if (local.has(read.range())) return undefined
    return read.kind() === "ipv6" ? `${read.toNormalizedString().split(":").slice(0, 4).join(":")}::` : read.toString()
  }
}
