import dns from "node:dns"
import { networkInterfaces } from "node:os"
import type { Address } from "./Address.ts"
import * as HostsFile from "./HostsFile.ts"
import { codeOf, NetworkError } from "./NetworkError.ts"

/**
 * Names to addresses, by c-ares and a cache.
 *
 * `dns.lookup` would ask through libuv's four threads (some forty names a second when an answer takes 50 ms); c-ares asks thousands.
 * It knows neither /etc/hosts nor `localhost`: those come first.
 */
export interface DnsResolver {
  /** IPv4 addresses first. Fails with a `NetworkFailure` of kind `dns`. */
  readonly resolve: (host: string) => Promise<ReadonlyArray<Address>>
  readonly close: () => void
}

export interface DnsResolverOptions {
  /** `address:port` of the name servers; undefined = those of /etc/resolv.conf, read again when it changes. */
  readonly nameServers?: ReadonlyArray<string>
  readonly hostsFile?: string
  /** Names kept, at most. */
  readonly maxNames?: number
  /** Milliseconds to wait for one answer of a name server, the first time. */
  readonly answerTimeout?: number
  /** Milliseconds between which the TTL of an answer is put. */
  readonly minTtl?: number
  readonly maxTtl?: number
  readonly now?: () => number
}

/** Addresses of one name that are tried, at most. */
const maxAddresses = 8

/** Milliseconds for which it is remembered that a name has no address, and that its servers failed. */
const absentTtl = 60_000
const failureTtl = 5_000

/** Milliseconds after its end for which an answer still serves while the name servers fail (RFC 8767). */
const staleFor = 24 * 3_600_000

interface Entry {
  readonly addresses: ReadonlyArray<Address>
  readonly failure: NetworkError | undefined
  readonly until: number
}

export const make = (options: DnsResolverOptions = {}): DnsResolver => {
  const now = options.now ?? Date.now
  const maxNames = options.maxNames ?? 50_000
  const minTtl = options.minTtl ?? 10_000
  const maxTtl = options.maxTtl ?? 3_600_000
  const cache = new Map<string, Entry>()
  const asking = new Map<string, Promise<ReadonlyArray<Address>>>()
  const hosts = HostsFile.watch(options.hostsFile ?? "/etc/hosts", now)
  const servers = nameServers(options, now)
  const ipv6 = HostsFile.atMostEvery(5_000, now, hasIpv6)

  const remember = (name: string, entry: Entry) => {
    // Deleting first moves a renewed name to the young end.
    cache.delete(name)
    cache.set(name, entry)
    if (cache.size > maxNames) cache.delete(cache.keys().next().value ?? name)
  }

  const ask = async (name: string): Promise<ReadonlyArray<Address>> => {
    const known = cache.get(name)
    try {
      const { addresses, ttl } = await query(servers.current(), name, ipv6())
      remember(name, { addresses, failure: undefined, until: now() + clamp(ttl, minTtl, maxTtl) })
      return addresses
    } catch (error) {
      const absent = absence.has(codeOf(error))
      if (!absent && known !== undefined && known.addresses.length > 0 && known.until + staleFor > now()) {
        return known.addresses
      }
      const failure = explainDns(error, name)
      if (absent || known === undefined) {
        remember(name, { addresses: [], failure, until: now() + (absent ? absentTtl : failureTtl) })
      }
      throw failure
    }
  }

  /** Whoever asks for a name that is being asked for waits for the same answer. */
  const askOnce = (name: string) => {
    const pending = asking.get(name)
    if (pending !== undefined) return pending
    const started = ask(name).finally(() => asking.delete(name))
    asking.set(name, started)
    return started
  }

  return {
    resolve: async (host) => {
      const name = host.endsWith(".") ? host.slice(0, -1) : host
      const local = hosts.find(name)
      if (local !== undefined) return local
      const known = cache.get(name)
      if (known !== undefined && known.until > now()) {
        if (known.failure !== undefined) throw known.failure
        return known.addresses
      }
      return askOnce(name)
    },
    close: () => servers.current().cancel()
  }
}

/** Both families at once; one of them is enough. */
const query = async (resolver: dns.promises.Resolver, name: string, ipv6: boolean) => {
  const [v4, v6] = await Promise.allSettled([
    resolver.resolve4(name, { ttl: true }),
    ipv6 ? resolver.resolve6(name, { ttl: true }) : []
  ])
  const records = [
    ...(v4.status === "fulfilled" ? v4.value.map((record) => ({ ...record, family: 4 as const })) : []),
    ...(v6.status === "fulfilled" ? v6.value.map((record) => ({ ...record, family: 6 as const })) : [])
  ].slice(0, maxAddresses)
  if (records.length === 0) throw worst([v4, v6])
  return {
    addresses: records.map(({ address, family }): Address => ({ address, family })),
    ttl: Math.min(...records.map((record) => record.ttl)) * 1000
  }
}

/** A name server's failure rather than "no such address": the one family without addresses may not hide that the other was not told. */
const worst = (answers: ReadonlyArray<PromiseSettledResult<unknown>>): unknown => {
  const reasons = answers.flatMap((answer) => (answer.status === "rejected" ? [answer.reason as unknown] : []))
  return reasons.find((reason) => !absence.has(codeOf(reason))) ?? reasons[0] ?? noData()
}

const noData = () => Object.assign(new Error("no address"), { code: dns.NODATA })

const clamp = (value: number, least: number, most: number) => Math.min(Math.max(value, least), most)

/** The resolver of the machine's name servers, made anew when /etc/resolv.conf changes (a laptop moves, a VPN comes up). */
const nameServers = (options: DnsResolverOptions, now: () => number) => {
  const build = () => {
    const timeout = options.answerTimeout ?? 2_000
    const resolver = new dns.promises.Resolver({ timeout, tries: 3, maxTimeout: timeout * 2 })
    if (options.nameServers !== undefined) resolver.setServers(options.nameServers)
    return resolver
  }
  let resolver = build()
  const changed = HostsFile.changes("/etc/resolv.conf", now)
  return {
    current: () => {
      if (options.nameServers === undefined && changed()) resolver = build()
      return resolver
    }
  }
}

/** A machine without a global IPv6 address need not ask for AAAA. */
const hasIpv6 = (): boolean =>
  Object.values(networkInterfaces()).some((addresses) =>
    addresses?.some((one) => one.family === "IPv6" && !one.internal && one.scopeid === 0)
  )

/** Answers that say that there is no address; every other error is a failure of the name servers. */
const absence: ReadonlySet<string> = new Set([dns.NOTFOUND, dns.NODATA, dns.BADNAME])

const explainDns = (error: unknown, name: string): NetworkError => {
  const code = codeOf(error)
  return new NetworkError("Dns", name, dnsReasons[code] ?? `its name could not be resolved (${code})`, {
    cause: error
  })
}

const dnsReasons: Readonly<Record<string, string>> = {
  [dns.NOTFOUND]: "there is no such name in the DNS",
  [dns.NODATA]: "the name has no address",
  [dns.BADNAME]: "not a name that the DNS can hold",
  [dns.SERVFAIL]: "the name servers failed (SERVFAIL)",
  [dns.REFUSED]: "the name servers refused to answer",
  [dns.TIMEOUT]: "the name servers did not answer in time",
  [dns.CONNREFUSED]: "the name servers cannot be reached"
}
