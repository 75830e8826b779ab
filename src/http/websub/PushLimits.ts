import { KeyedCounter } from "#domain/collections/KeyedCounter.ts"
import { MemoryBudget, type Reservation } from "#http/MemoryBudget.ts"

/** Maximum of documents that arrive at once: for one callback, and for all callbacks of one hub's site. */
const maxPerCallback = 2
const maxPerSite = 16

/** Maximum bytes of all arriving documents together: two sites at their limits. */
const maxBytes = 256 * 1024 * 1024

/** Bytes that a document reserves, however short it is. */
const minReservationBytes = 64 * 1024

/**
 * Limits of the documents that publishers' hubs push.
 *
 * A slow or busy hub takes no room from other sites, and one callback takes little of its site's room. All sites share the memory.
 */
export class PushLimits {
  readonly #callbacks = new KeyedCounter({ maxPerKey: maxPerCallback })
  readonly #sites = new KeyedCounter({ maxPerKey: maxPerSite })
  readonly #memory = new MemoryBudget({ maxTotal: maxBytes })

  /** Undefined when a limit is reached. */
  reserve(callback: string, site: string): Reservation | undefined {
    if (!this.#callbacks.hasRoom(callback) || !this.#sites.hasRoom(site)) return undefined
    const reservation = this.#memory.reserve(site, minReservationBytes)
    if (reservation === undefined) return undefined
    this.#callbacks.tryAdd(callback)
    this.#sites.tryAdd(site)
    return {
      grow: reservation.grow,
      release: () => {
        reservation.release()
        this.#callbacks.remove(callback)
        this.#sites.remove(site)
      }
    }
  }
}
