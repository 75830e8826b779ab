import { Effect } from "effect"
import { isIP } from "node:net"
import { networkInterfaces } from "node:os"
import { normalizeAddress } from "./AddressGuard.ts"
import { atMostEvery } from "./AtMostEvery.ts"
import { type DnsResolver, isLocalhost } from "./DnsResolver.ts"

/** Time for which the list of network interfaces counts, in ms. Addresses come and go with VPNs, containers and IPv6 privacy. */
const interfacesMaxAgeMs = 30_000

/** Interval between two resolutions of the base URL's name. The resolver answers from its cache for the TTL. */
const resolutionInterval = "1 minute"

export interface OwnAddressesOptions {
  readonly baseUrl: string
  readonly resolver: DnsResolver
  /** Replaces the network interfaces of this machine. */
  readonly listAddresses?: () => ReadonlyArray<string>
  readonly now?: () => number
}

/**
 * Recognizes the addresses under which clients reach this service: those of the network interfaces, and those of the base URL's name.
 *
 * The second kind covers a machine behind NAT or a reverse proxy. A name whose resolution fails keeps its last addresses.
 */
export const makeIsOwnAddress = Effect.fnUntraced(function*(options: OwnAddressesOptions) {
  const list = options.listAddresses ?? listInterfaceAddresses
  const current = atMostEvery(interfacesMaxAgeMs, options.now ?? Date.now, () => toAddressSet(list()))
  const host = new URL(options.baseUrl).hostname.replace(/^\[|\]$/g, "")
  const isName = isIP(host) === 0
  let named = toAddressSet(isName ? [] : [host])
  if (isName && !isLocalhost(host)) {
    const resolve = Effect.tryPromise(() => options.resolver.resolve(host)).pipe(
      Effect.map((addresses) => void (named = toAddressSet(addresses.map(({ address }) => address)))),
      Effect.ignore
    )
    yield* Effect.forkScoped(Effect.forever(Effect.andThen(resolve, Effect.sleep(resolutionInterval))))
  }
  return (address: string): boolean => {
    const normalized = normalizeAddress(address)
    return current().has(normalized) || named.has(normalized)
  }
})

const toAddressSet = (addresses: ReadonlyArray<string>): ReadonlySet<string> => new Set(addresses.map(normalizeAddress))

const listInterfaceAddresses = (): ReadonlyArray<string> =>
  Object.values(networkInterfaces()).flatMap((addresses) => addresses?.map(({ address }) => address) ?? [])
