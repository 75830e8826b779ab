import { KeyedCounter } from "#domain/collections/KeyedCounter.ts"
import type { MemoryBudget, MemoryReservation } from "#domain/collections/MemoryBudget.ts"

/** Maximum of documents that arrive at once: for one callback, and for all callbacks of one hub's site. */
const maxPerCallback = 2
const maxPerSite = 16

/** The room of a pushed document, released once. */
interface PushRoom {
  readonly reservation: MemoryReservation
  readonly release: () => void
}

/**
 * Limits of the documents that publishers' hubs push.
 *
 * A slow or busy hub takes no turns from other sites, and one callback takes few of its site's turns. All sites share the memory.
 */
export class PushLimits {
  readonly #callbacks = new KeyedCounter({ maxPerKey: maxPerCallback })
  readonly #sites = new KeyedCounter({ maxPerKey: maxPerSite })
  readonly #memory: MemoryBudget

  constructor(memory: MemoryBudget) {
    this.#memory = memory
  }

  /** Undefined when a limit is reached. */
  reserve(callback: string, site: string): PushRoom | undefined {
    if (!this.#callbacks.hasRoom(callback) || !this.#sites.hasRoom(site)) return undefined
    const reservation = this.#memory.reserve(site, true)
    this.#callbacks.tryAdd(callback)
    this.#sites.tryAdd(site)
    return {
      reservation,
      release: () => {
        reservation.release()
        this.#callbacks.remove(callback)
        this.#sites.remove(site)
      }
    }
  }
}
