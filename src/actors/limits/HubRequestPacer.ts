import { BoundedMap } from "#domain/collections/BoundedMap.ts"
import { siteOf } from "#domain/Topic.ts"

/** Time between two requests to the hubs of one site, in ms: a thousand feeds of one hub are subscribed in some 17 minutes. */
const requestSpacingMs = 1_000

/** Maximum of kept reservations. A resource without its dropped reservation gets another one. */
const maxReservations = 100_000

/** Number of sites above which sites without a future request are forgotten. */
const minSites = 1_000

/**
 * Reserves times for requests to hubs.
 *
 * A reservation outlives its actor. Otherwise a waiting actor that is passivated would go back to the end of the queue each time.
 */
export class HubRequestPacer {
  /** Reserved times by resource, epoch ms. */
  readonly #reservations = new BoundedMap<number, number>(maxReservations)
  /** The last reserved time of each site, epoch ms. */
  readonly #lastAt = new Map<string, number>()
  #maxSites = minSites

  /** The time (epoch ms) at which a resource may send its request: its reservation, or a new one. */
  reserve(id: number, hub: string, now: number): number {
    const reserved = this.#reservations.get(id)
    if (reserved !== undefined) return reserved
    const site = siteOf(new URL(hub).hostname)
    const at = Math.max(now, (this.#lastAt.get(site) ?? -requestSpacingMs) + requestSpacingMs)
    this.#lastAt.set(site, at)
    this.#reservations.set(id, at)
    if (this.#lastAt.size > this.#maxSites) this.#forgetSites(now)
    return at
  }

  /** Drops the reservation of a resource that sends its request. */
  release(id: number): void {
    this.#reservations.delete(id)
  }

  get siteCount(): number {
    return this.#lastAt.size
  }

  /** Visits all sites, which is rare: the limit doubles with the number of the remaining ones. */
  #forgetSites(now: number): void {
    for (const [site, at] of this.#lastAt) {
      if (at + requestSpacingMs <= now) this.#lastAt.delete(site)
    }
    this.#maxSites = Math.max(minSites, 2 * this.#lastAt.size)
  }
}
