import { KeyedCounter, type KeyedCounterLimits } from "#domain/collections/KeyedCounter.ts"

/** Memory of one body, released once. */
export interface Reservation {
  /** Counts received bytes. False when the budget has no room for them. */
  readonly grow: (bytes: number) => boolean
  readonly release: () => void
}

/**
 * Bytes of the bodies that are arriving, limited per key and in total.
 *
 * The budget counts received bytes, so that a large Content-Length alone takes no room.
 */
export class MemoryBudget {
  readonly #bytes: KeyedCounter

  constructor(limits: KeyedCounterLimits) {
    this.#bytes = new KeyedCounter(limits)
  }

  /** Reserves `minBytes` for a body, however short the body is. Undefined when the budget has no room. */
  reserve(key: string, minBytes: number): Reservation | undefined {
    if (!this.#bytes.tryAdd(key, minBytes)) return undefined
    let [received, reserved] = [0, minBytes]
    return {
      grow: (bytes) => {
        received += bytes
        const more = Math.max(received - reserved, 0)
        if (!this.#bytes.tryAdd(key, more)) return false
        reserved += more
        return true
      },
      release: () => void this.#bytes.remove(key, reserved)
    }
  }
}
