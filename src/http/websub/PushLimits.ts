import { MemoryBudget, type Reservation } from "#http/MemoryBudget.ts"

/** Documents of one callback, and of all callbacks of one hub's site, at once. */
const maxOfCallback = 2
const maxOfSite = 16

/** Bytes of all documents together: those of two sites that send all they can. */
const maxBytes = 256 * 1024 * 1024

/** What a request takes, however little has come of it. */
const leastBytes = 64 * 1024

/**
 * Room for what hubs push. A hub that sends slowly, or a lot, takes none of what belongs to other sites, and one callback little of what
 * belongs to its own; memory is shared by all, and counted by the bytes that have come: whoever announces many takes nothing.
 */
export class PushLimits {
  readonly #ofCallbacks = new Counts(maxOfCallback)
  readonly #ofSites = new Counts(maxOfSite)
  readonly #room = new MemoryBudget({ each: maxBytes, all: maxBytes })

  /** Undefined when there is no room. */
  enter(callback: string, site: string): Reservation | undefined {
    if (this.#ofCallbacks.isFull(callback) || this.#ofSites.isFull(site)) return undefined
    const place = this.#room.enter(site, leastBytes)
    if (place === undefined) return undefined
    this.#ofCallbacks.add(callback)
    this.#ofSites.add(site)
    return {
      grow: place.grow,
      leave: () => {
        place.leave()
        this.#ofCallbacks.remove(callback)
        this.#ofSites.remove(site)
      }
    }
  }
}

/** How many there are of each key; keys without any are forgotten. */
class Counts {
  readonly #max: number
  readonly #counts = new Map<string, number>()

  constructor(max: number) {
    this.#max = max
  }

  isFull(key: string): boolean {
    return (this.#counts.get(key) ?? 0) >= this.#max
  }

  add(key: string): void {
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1)
  }

  remove(key: string): void {
    const left = (this.#counts.get(key) ?? 0) - 1
    if (left > 0) this.#counts.set(key, left)
    else this.#counts.delete(key)
  }
}
