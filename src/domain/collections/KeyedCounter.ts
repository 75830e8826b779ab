/** Upper bounds of a counter; a missing one sets no bound. */
export interface KeyedCounterLimits {
  readonly maxPerKey?: number
  readonly maxTotal?: number
}

/**
 * Counts by key, with an optional maximum for each key and for the total.
 *
 * A key with a count of 0 takes no memory. The key `undefined` counts towards the total only. Amounts are non-negative integers.
 */
export class KeyedCounter<K = string> {
  readonly #maxPerKey: number
  readonly #maxTotal: number
  readonly #counts = new Map<K, number>()
  #total = 0

  constructor(limits: KeyedCounterLimits = {}) {
    this.#maxPerKey = limits.maxPerKey ?? Infinity
    this.#maxTotal = limits.maxTotal ?? Infinity
  }

  /** Sum of all counts. */
  get total(): number {
    return this.#total
  }

  /** Number of keys with a count above 0. */
  get size(): number {
    return this.#counts.size
  }

  /** The count of `key`; 0 for an unknown one. */
  get(key: K): number {
    return this.#counts.get(key) ?? 0
  }

  /** False when `amount` more would exceed a maximum. An amount of 0 always fits. */
  hasRoom(key: K | undefined, amount = 1): boolean {
    if (amount === 0) return true
    if (this.#total + amount > this.#maxTotal) return false
    return key === undefined || this.get(key) + amount <= this.#maxPerKey
  }

  /** Adds `amount` and returns true, or returns false and changes no count when a maximum would be exceeded. */
  tryAdd(key: K | undefined, amount = 1): boolean {
    if (!this.hasRoom(key, amount)) return false
    this.#total += amount
    if (key !== undefined && amount > 0) this.#counts.set(key, this.get(key) + amount)
    return true
  }

  /** Takes back an amount that `tryAdd` has added. Returns true when the count of `key` is 0 afterwards. */
  remove(key: K | undefined, amount = 1): boolean {
    this.#total -= amount
    if (key === undefined) return false
    const left = this.get(key) - amount
    if (left > 0) this.#counts.set(key, left)
    else this.#counts.delete(key)
    return left <= 0
  }
}
