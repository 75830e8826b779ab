import dns from "node:dns"
import { readFileSync, statSync } from "node:fs"
import { isIP } from "node:net"
import { networkInterfaces } from "node:os"
import { BoundedMap } from "#domain/collections/BoundedMap.ts"
import { atMostEvery } from "./AtMostEvery.ts"
import { codeOf, NetworkError } from "./NetworkError.ts"

export interface IpAddress {
  readonly address: string
  readonly family: 4 | 6
}

/**
 * Resolves names to addresses with c-ares and a cache.
 *
 * c-ares sends thousands of queries at once. `dns.lookup` uses libuv's four threads: about 40 names per second if a response takes 50 ms.
 * c-ares ignores /etc/hosts and `localhost`, so the hosts file comes first.
 */
export interface DnsResolver {
  /** IPv4 addresses come first. Rejects with a `NetworkError` whose reason is `Dns`. */
  readonly resolve: (host: string) => Promise<ReadonlyArray<IpAddress>>
  readonly close: () => void
}

export interface DnsResolverOptions {
  /** `address:port` of the name servers; by default those of /etc/resolv.conf, read again when it changes. */
  readonly nameServers?: ReadonlyArray<string>
  readonly hostsFile?: string
  /** Names in the cache. */
  readonly maxNames?: number
  /** Timeout of the first query to a name server. */
  readonly answerTimeoutMs?: number
  /** Bounds of the TTL of a cached response. */
  readonly minTtlMs?: number
  readonly maxTtlMs?: number
  readonly now?: () => number
}

/** Addresses of one name that are tried. */
const maxAddresses = 8

/** Time for which a name without addresses stays in the cache. */
const absentTtlMs = 60_000

/** Time for which a failure of the name servers stays in the cache. */
const failureTtlMs = 5_000

/** Time for which an expired response still serves while the name servers fail (RFC 8767). */
const staleTtlMs = 24 * 3_600_000

interface CacheEntry {
  readonly addresses: ReadonlyArray<IpAddress>
  readonly failure: NetworkError | undefined
  readonly expires: number
}

export const make = (options: DnsResolverOptions = {}): DnsResolver => {
  const now = options.now ?? Date.now
  const minTtlMs = options.minTtlMs ?? 10_000
  const maxTtlMs = options.maxTtlMs ?? 3_600_000
  const cache = new BoundedMap<string, CacheEntry>(options.maxNames ?? 50_000)
  const pending = new Map<string, Promise<ReadonlyArray<IpAddress>>>()
  const findLocal = watchHostsFile(options.hostsFile ?? "/etc/hosts", now)
  const servers = watchNameServers(options, now)
  const ipv6 = atMostEvery(5_000, now, hasIpv6)

  const lookup = async (name: string): Promise<ReadonlyArray<IpAddress>> => {
    const cached = cache.get(name)
    try {
      const { addresses, ttlMs } = await queryAddresses(servers.current(), name, ipv6())
      cache.set(name, { addresses, failure: undefined, expires: now() + clamp(ttlMs, minTtlMs, maxTtlMs) })
      return addresses
    } catch (error) {
      const isAbsent = absentCodes.has(codeOf(error))
      if (!isAbsent && cached !== undefined && cached.addresses.length > 0 && cached.expires + staleTtlMs > now()) {
        return cached.addresses
      }
      const failure = toDnsError(error, name)
      if (isAbsent || cached === undefined) {
        cache.set(name, { addresses: [], failure, expires: now() + (isAbsent ? absentTtlMs : failureTtlMs) })
      }
      throw failure
    }
  }

  /** Concurrent callers of one name share one lookup. */
  const lookupOnce = (name: string) => {
    const running = pending.get(name)
    if (running !== undefined) return running
    const started = lookup(name).finally(() => pending.delete(name))
    pending.set(name, started)
    return started
  }

  return {
    resolve: async (host) => {
      const name = host.endsWith(".") ? host.slice(0, -1) : host
      const local = findLocal(name)
      if (local !== undefined) return local
      const cached = cache.get(name)
      if (cached === undefined || cached.expires <= now()) return lookupOnce(name)
      if (cached.failure !== undefined) throw cached.failure
      return cached.addresses
    },
    close: () => servers.current().cancel()
  }
}

/** Queries both address families at once; one family is enough. */
const queryAddresses = async (resolver: dns.promises.Resolver, name: string, ipv6: boolean) => {
  const [v4, v6] = await Promise.allSettled([
    resolver.resolve4(name, { ttl: true }),
    ipv6 ? resolver.resolve6(name, { ttl: true }) : []
  ])
  const records = [
    ...(v4.status === "fulfilled" ? v4.value.map((record) => ({ ...record, family: 4 as const })) : []),
    ...(v6.status === "fulfilled" ? v6.value.map((record) => ({ ...record, family: 6 as const })) : [])
  ].slice(0, maxAddresses)
  if (records.length === 0) throw worstFailure([v4, v6])
  return {
    addresses: records.map(({ address, family }): IpAddress => ({ address, family })),
    ttlMs: Math.min(...records.map((record) => record.ttl)) * 1000
  }
}

/** Prefers a name server's failure to "no such address", because the failed family may have addresses. */
const worstFailure = (answers: ReadonlyArray<PromiseSettledResult<unknown>>): unknown => {
  const reasons = answers.flatMap((answer) => (answer.status === "rejected" ? [answer.reason as unknown] : []))
  return reasons.find((reason) => !absentCodes.has(codeOf(reason))) ?? reasons[0] ?? noData()
}

const noData = () => Object.assign(new Error("no address"), { code: dns.NODATA })

const clamp = (value: number, minimum: number, maximum: number) => Math.min(Math.max(value, minimum), maximum)

/** The resolver for the machine's name servers, replaced when /etc/resolv.conf changes (a laptop moves, a VPN comes up). */
const watchNameServers = (options: DnsResolverOptions, now: () => number) => {
  const build = () => {
    const timeout = options.answerTimeoutMs ?? 2_000
    const resolver = new dns.promises.Resolver({ timeout, tries: 3, maxTimeout: timeout * 2 })
    if (options.nameServers !== undefined) resolver.setServers(options.nameServers)
    return resolver
  }
  let resolver = build()
  const hasChanged = watchChanges("/etc/resolv.conf", now)
  return {
    current: () => {
      if (options.nameServers === undefined && hasChanged()) resolver = build()
      return resolver
    }
  }
}

/** A machine without a global IPv6 address sends no AAAA queries. */
const hasIpv6 = (): boolean =>
  Object.values(networkInterfaces()).some((addresses) =>
    addresses?.some((one) => one.family === "IPv6" && !one.internal && one.scopeid === 0)
  )

/** Responses that report a missing address. Every other code is a failure of the name servers. */
const absentCodes: ReadonlySet<string> = new Set([dns.NOTFOUND, dns.NODATA, dns.BADNAME])

const toDnsError = (error: unknown, name: string): NetworkError => {
  const code = codeOf(error)
  return new NetworkError("Dns", name, dnsTexts[code] ?? `its name could not be resolved (${code})`, {
    cause: error
  })
}

const dnsTexts: Readonly<Record<string, string>> = {
  [dns.NOTFOUND]: "there is no such name in the DNS",
  [dns.NODATA]: "the name has no address",
  [dns.BADNAME]: "not a name that the DNS can hold",
  [dns.SERVFAIL]: "the name servers failed (SERVFAIL)",
  [dns.REFUSED]: "the name servers refused to answer",
  [dns.TIMEOUT]: "the name servers did not answer in time",
  [dns.CONNREFUSED]: "the name servers cannot be reached"
}

/**
 * Returns a function that finds names without a name server: those of the hosts file, and `localhost`.
 *
 * It reads the file again after each change. A missing file is empty.
 */
const watchHostsFile = (file: string, now: () => number) => {
  const hasChanged = watchChanges(file, now)
  let names = readHostsFile(file)
  return (name: string): ReadonlyArray<IpAddress> | undefined => {
    if (isLocalhost(name)) return localhost
    if (hasChanged()) names = readHostsFile(file)
    return names.get(name)
  }
}

/** Returns a function that tells if a file has changed since its last call. It checks the file every five seconds at most. */
const watchChanges = (file: string, now: () => number): () => boolean => {
  const stamp = atMostEvery(5_000, now, () => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0)
  let before = stamp()
  return () => {
    const current = stamp()
    const changed = current !== before
    before = current
    return changed
  }
}

const readHostsFile = (file: string): ReadonlyMap<string, ReadonlyArray<IpAddress>> => {
  try {
    return parseHostsFile(readFileSync(file, "utf8"))
  } catch {
    // A missing or unreadable file counts as empty.
    return new Map<string, ReadonlyArray<IpAddress>>()
  }
}

/** Parses lines of the form `address name name … # comment`. IPv4 addresses come first, as in DNS answers. */
export const parseHostsFile = (text: string): ReadonlyMap<string, ReadonlyArray<IpAddress>> => {
  const names = new Map<string, Array<IpAddress>>()
  for (const line of text.split("\n")) {
    const [address = "", ...aliases] = (line.split("#", 1)[0] ?? "").trim().split(/\s+/)
    const family = isIP(address)
    if (family !== 4 && family !== 6) continue
    for (const alias of aliases) {
      const name = alias.toLowerCase()
      names.set(name, [...(names.get(name) ?? []), { address, family }])
    }
  }
  return new Map([...names].map(([name, addresses]) => [name, addresses.toSorted((a, b) => a.family - b.family)]))
}

/** `localhost` and all names below it are this machine, regardless of DNS (RFC 6761). */
export const isLocalhost = (name: string): boolean => name === "localhost" || name.endsWith(".localhost")

const localhost: ReadonlyArray<IpAddress> = [{ address: "127.0.0.1", family: 4 }, { address: "::1", family: 6 }]
