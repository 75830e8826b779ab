import { BoundedMap } from "#domain/collections/BoundedMap.ts"
import { RateLimiter } from "#domain/limits/RateLimiter.ts"
import { siteOf } from "#domain/Topic.ts"

/** Rate of requests to the hubs of one site: a thousand feeds of one hub are subscribed in some 17 minutes. */
const siteLimit = { burst: 1, perMinute: 60 }

/** Maxima of kept reservations and of sites. A resource without its dropped reservation gets another one. */
const maxReservations = 100_000
const maxSites = 100_000

/**
 * Reserves times for requests to hubs.
 *
 * A reservation outlives its actor. Otherwise a waiting actor that is passivated would go back to the end of the queue each time.
 */
export class HubRequestPacer {
  /** Reserved times by resource, epoch ms. */
  readonly #reservations = new BoundedMap<number, number>(maxReservations)
  readonly #sites = new RateLimiter(siteLimit, { maxKeys: maxSites, maxDebtMs: Infinity })

  /** The time (epoch ms) at which a resource may send its request: its reservation, or a new one. */
  reserve(id: number, hub: string, now: number): number {
    const reserved = this.#reservations.get(id)
    if (reserved !== undefined) return reserved
    const site = siteOf(new URL(hub).hostname)
    const at = now + this.#sites.waitMs(site, now)
    this.#sites.use(site, now)
    this.#reservations.set(id, at)
    return at
  }

  /** Drops the reservation of a resource that sends its request. */
  release(id: number): void {
    this.#reservations.delete(id)
  }
}
