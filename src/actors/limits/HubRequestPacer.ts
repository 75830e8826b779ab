import { siteOf } from "#domain/Topic.ts"

/** Of one hub's site questions go out so many ms apart: a thousand feeds of one host are subscribed in some 17 minutes. */
const spacing = 1_000

/** Turns that are kept; whoever loses one gets another. */
const mostKept = 100_000

/** Sites that are kept before those whose last turn is over are forgotten. */
const mostSites = 1_000

/**
 * When whose turn is to ask a hub. A turn outlives the actor that it was given to: one that was evicted while it waited would queue anew,
 * at the end, each time.
 */
export class HubRequestPacer {
  /** By resource, epoch ms. */
  readonly #given = new Map<number, number>()
  /** The last turn at a site, epoch ms. */
  readonly #last = new Map<string, number>()
  #sitesAtMost = mostSites

  /** The turn of a resource, epoch ms: the one that it has already, or the next. */
  reserve(id: number, hub: string, now: number): number {
    const known = this.#given.get(id)
    if (known !== undefined) return known
    const site = siteOf(new URL(hub).hostname)
    const turn = Math.max(now, (this.#last.get(site) ?? -spacing) + spacing)
    this.#last.set(site, turn)
    this.#given.set(id, turn)
    this.#forget(now)
    return turn
  }

  /** The resource asks now. */
  release(id: number): void {
    this.#given.delete(id)
  }

  get sites(): number {
    return this.#last.size
  }

  #forget(now: number): void {
    if (this.#given.size > mostKept) {
      const [oldest] = this.#given.keys()
      if (oldest !== undefined) this.#given.delete(oldest)
    }
    if (this.#last.size <= this.#sitesAtMost) return
    for (const [site, at] of this.#last) {
      if (at + spacing <= now) this.#last.delete(site)
    }
    this.#sitesAtMost = Math.max(mostSites, 2 * this.#last.size) // a look at all of them is rare
  }
}
