import { BoundedMap } from "#domain/collections/BoundedMap.ts"
import { networksOf, ownerOf } from "./IpNetwork.ts"
import { type RateLimit, RateLimiter } from "./RateLimiter.ts"

const mebibyte = 1024 * 1024

/** MiB that strangers' topics of one site fetch, unpacked: so many at once, then as many as four times an hour. */
const siteMebibytes: RateLimit = { burst: 1024, perMinute: 4 * 1024 / 60 }

/** MiB of the documents that the pings of one client network cause to be fetched. */
const clientMebibytes: RateLimit = siteMebibytes

/** MiB that are fetched for the subscriptions of one client network, with pings and without: four times a site, because readers have many. */
const askerMebibytes: RateLimit = { burst: 4 * 1024, perMinute: 16 * 1024 / 60 }

/** Seconds of reading and selecting, for the topics of one site, and for the subscriptions of one client network: a quarter of a thread. */
const readingSeconds: RateLimit = { burst: 120, perMinute: 15 }

/** Pings of one client network; the topics of a request count each. */
const clientPings: RateLimit = { burst: 1_000, perMinute: 1_000 }

/** Pings for the topics of one site. */
const sitePings: RateLimit = { burst: 600, perMinute: 1_200 }

/** Sites that may share an address at full speed, as at a hosting company. */
const sitesPerAddress = 4

/** Fetches of smaller documents are limited by the politeness of their hosts, and cost a ping nothing. */
const minLargeBytes = 64 * 1024

const bounds = { maxKeys: 100_000, maxDebtMs: 3_600_000 }
const maxRemembered = 10_000

/** A topic of strangers, and the client networks that asked for its subscriptions. */
export interface StrangersTopic {
  readonly host: string
  /** Absent where an asker is unknown, or for many askers: then the site alone counts. */
  readonly askers?: ReadonlyArray<string> | undefined
}

/** A document that was fetched for strangers. */
export interface StrangersFetch extends StrangersTopic {
  /** Canonical topic. */
  readonly url: string
  /** Address of the server, if known. */
  readonly server: string | undefined
  readonly bytes: number
}

/** The time for which a topic may not be fetched. */
export interface LedgerPause {
  readonly waitMs: number
  /** For the status, the middle of a sentence. */
  readonly reason: string
}

/**
 * The ledger of what strangers cause in this process, by the network of the client and by the site that is asked.
 *
 * A site is the registrable domain of a topic, and the address that its host resolved to at the last fetch: names under one address are
 * free. The askers of a topic share its costs, and one asker with an allowance keeps the topic fetched. Accounts draw nothing from the ledger.
 */
export class StrangerLedger {
  readonly #siteBytes = new RateLimiter(siteMebibytes, bounds)
  readonly #siteReading = new RateLimiter(readingSeconds, bounds)
  readonly #askerBytes = new RateLimiter(askerMebibytes, bounds)
  readonly #askerReading = new RateLimiter(readingSeconds, bounds)
  readonly #clientBytes = new RateLimiter(clientMebibytes, bounds)
  readonly #clientPings = new RateLimiter(clientPings, { ...bounds, maxDebtMs: 0 })
  readonly #sitePings = new RateLimiter(sitePings, { ...bounds, maxDebtMs: 0 })
  readonly #serverOf = new BoundedMap<string, string>(maxRemembered)
  readonly #largeTopics = new BoundedMap<string, number>(maxRemembered)

  /** Counts a fetched document for its site and its askers. */
  recordFetch({ askers, bytes, host, server, url }: StrangersFetch, now: number): void {
    const network = server === undefined ? undefined : networksOf(server)?.host
    if (network !== undefined) this.#serverOf.set(host, network)
    this.#useSite(this.#siteBytes, host, now, bytes / mebibyte)
    useShares(this.#askerBytes, askers, now, bytes / mebibyte)
    if (bytes < minLargeBytes) this.#largeTopics.delete(url)
    else this.#largeTopics.set(url, bytes)
  }

  /** Counts the time that reading or selecting took, for the site and its askers. */
  recordReading({ askers, host }: StrangersTopic, ms: number, now: number): void {
    this.#useSite(this.#siteReading, host, now, ms / 1000)
    useShares(this.#askerReading, askers, now, ms / 1000)
  }

  /** The pause of a topic whose site or askers have used up their share; undefined while the topic may be fetched. */
  findPause({ askers, host }: StrangersTopic, now: number): LedgerPause | undefined {
    const site = ownerOf(host)
    const server = this.#serverOf.get(host)
    const bytesOfSite = siteWaitMs(this.#siteBytes, site, server, now)
    const readingOfSite = siteWaitMs(this.#siteReading, site, server, now)
    const bytesOfAskers = waitOfAllMs(this.#askerBytes, askers, now)
    const readingOfAskers = waitOfAllMs(this.#askerReading, askers, now)
    const waitMs = Math.max(bytesOfSite, readingOfSite, bytesOfAskers, readingOfAskers)
    if (waitMs === 0) return undefined
    const isOfSite = waitMs === bytesOfSite || waitMs === readingOfSite
    const users = isOfSite ? `the topics of ${site}` : "the clients that subscribed to this topic"
    const share = waitMs === bytesOfSite || waitMs === bytesOfAskers ? "bytes" : "time for reading"
    return { waitMs, reason: `${users} have used up their ${share} on this hub` }
  }

  /** Counts a request with so many pings and returns 0, or returns the milliseconds until the client may send it. */
  tryPings(client: string, count: number, now: number): number {
    const waitMs = this.#clientPings.waitMs(client, now, Math.min(count, clientPings.burst))
    if (waitMs === 0) this.#clientPings.use(client, now, count)
    return waitMs
  }

  /** Milliseconds until a ping may reach its topic: the site's pings, and the bytes that the client has caused. */
  pingWaitMs(client: string, url: string, host: string, now: number): number {
    const waitMs = this.#sitePings.waitMs(ownerOf(host), now)
    return this.#largeTopics.get(url) === undefined
      ? waitMs
      : Math.max(waitMs, this.#clientBytes.waitMs(client, now, 0))
  }

  /** Counts a ping that reaches its topic, with the bytes of the topic's last document. */
  recordPing(client: string, url: string, host: string, now: number): void {
    this.#sitePings.use(ownerOf(host), now)
    const bytes = this.#largeTopics.get(url)
    if (bytes !== undefined) this.#clientBytes.use(client, now, bytes / mebibyte)
  }

  #useSite(limiter: RateLimiter, host: string, now: number, uses: number): void {
    const server = this.#serverOf.get(host)
    if (server !== undefined) limiter.use(server, now, uses / sitesPerAddress)
    limiter.use(ownerOf(host), now, uses)
  }
}

const siteWaitMs = (limiter: RateLimiter, site: string, server: string | undefined, now: number): number =>
  Math.max(limiter.waitMs(site, now, 0), server === undefined ? 0 : limiter.waitMs(server, now, 0))

/** Divides a cost among the askers. */
const useShares = (limiter: RateLimiter, askers: StrangersTopic["askers"], now: number, uses: number): void => {
  for (const asker of askers ?? []) limiter.use(asker, now, uses / (askers?.length ?? 1))
}

/** Milliseconds until one of the askers has an allowance; 0 without askers. */
const waitOfAllMs = (limiter: RateLimiter, askers: StrangersTopic["askers"], now: number): number =>
  askers === undefined || askers.length === 0
    ? 0
    : Math.min(...askers.map((asker) => limiter.waitMs(asker, now, 0)))
