import { BoundedMap } from "#domain/collections/BoundedMap.ts"
import { networksOf, ownerOf } from "./IpNetwork.ts"
import { type RateLimit, RateLimiter } from "./RateLimiter.ts"

const mebibyte = 1024 * 1024

/** MiB that strangers' topics of one site fetch, unpacked: so many at once, then as many as four times an hour. */
const siteMebibytes: RateLimit = { burst: 1024, perMinute: 4 * 1024 / 60 }

/** MiB of the documents that the pings of one client network cause to be fetched. */
const clientMebibytes: RateLimit = siteMebibytes

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

/** A document that was fetched for strangers. */
export interface StrangersFetch {
  /** Canonical topic. */
  readonly url: string
  readonly host: string
  /** Address of the server, if known. */
  readonly server: string | undefined
  readonly bytes: number
}

/**
 * The ledger of what strangers cause in this process, by the network of the client and by the site that is asked.
 *
 * A site is the registrable domain of a topic, and the address that its host resolved to at the last fetch: names under one address are
 * free. Accounts draw nothing from the ledger.
 */
export class StrangerLedger {
  readonly #siteBytes = new RateLimiter(siteMebibytes, bounds)
  readonly #clientBytes = new RateLimiter(clientMebibytes, bounds)
  readonly #clientPings = new RateLimiter(clientPings, { ...bounds, maxDebtMs: 0 })
  readonly #sitePings = new RateLimiter(sitePings, { ...bounds, maxDebtMs: 0 })
  readonly #serverOf = new BoundedMap<string, string>(maxRemembered)
  readonly #largeTopics = new BoundedMap<string, number>(maxRemembered)

  /** Counts a fetched document for its site. */
  recordFetch({ bytes, host, server, url }: StrangersFetch, now: number): void {
    const mebibytes = bytes / mebibyte
    const network = server === undefined ? undefined : networksOf(server)?.host
    if (network !== undefined) {
      this.#serverOf.set(host, network)
      this.#siteBytes.use(network, now, mebibytes / sitesPerAddress)
    }
    this.#siteBytes.use(ownerOf(host), now, mebibytes)
    if (bytes < minLargeBytes) this.#largeTopics.delete(url)
    else this.#largeTopics.set(url, bytes)
  }

  /** Milliseconds until strangers' topics of a host may be fetched again; 0 for now. */
  fetchWaitMs(host: string, now: number): number {
    const server = this.#serverOf.get(host)
    const ofServer = server === undefined ? 0 : this.#siteBytes.waitMs(server, now, 0)
    return Math.max(ofServer, this.#siteBytes.waitMs(ownerOf(host), now, 0))
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
}
