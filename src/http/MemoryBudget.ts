/** Bytes that are held at once, of one key and of all together. */
export interface Limits {
  readonly each: number
  readonly all: number
}

/** Room for one body, to be left once. */
export interface Reservation {
  /** So many bytes more have come; false when there is no room for them. */
  readonly grow: (bytes: number) => boolean
  readonly leave: () => void
}

/** Room in memory for bodies that arrive. They are counted by the bytes that have come: whoever announces many takes nothing. */
export class MemoryBudget {
  readonly #limits: Limits
  readonly #of = new Map<string, number>()
  #all = 0

  constructor(limits: Limits) {
    this.#limits = limits
  }

  /** `least` is held for a body, however little has come of it. Undefined when there is no room. */
  enter(key: string, least: number): Reservation | undefined {
    if (!this.#take(key, least)) return undefined
    let [received, held] = [0, least]
    return {
      grow: (bytes) => {
        received += bytes
        const more = Math.max(received - held, 0)
        if (!this.#take(key, more)) return false
        held += more
        return true
      },
      leave: () => void this.#take(key, -held)
    }
  }

  #take(key: string, bytes: number): boolean {
    const ofKey = (this.#of.get(key) ?? 0) + bytes
    if (bytes > 0 && (ofKey > this.#limits.each || this.#all + bytes > this.#limits.all)) return false
    this.#all += bytes
    if (ofKey > 0) this.#of.set(key, ofKey)
    else this.#of.delete(key)
    return true
  }
}
