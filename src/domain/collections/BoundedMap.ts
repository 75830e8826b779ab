export interface BoundedMapOptions<K, V> {
  /** Makes an entry that `get` finds the youngest one: the map then drops the least recently used entry. */
  readonly touchOnGet?: boolean
  /** The weight of an entry, for instance its bytes; has an effect with `maxWeight` only. */
  readonly weightOf?: (value: V, key: K) => number
  /** Maximum of all weights together. An entry that alone exceeds this maximum is not stored. */
  readonly maxWeight?: number
  /** Called for each entry that a bound or `dropOldestWhile` has removed; not for `delete` and `clear`. */
  readonly onDrop?: (value: V, key: K) => void
}

/**
 * A map of at most `maxEntries` entries that drops its oldest entries.
 *
 * The age of an entry counts from its last `set`. Iteration goes from the oldest to the youngest entry. A bounded set is a `BoundedMap<K, true>`.
 */
export class BoundedMap<K, V extends NonNullable<unknown>> implements Iterable<[K, V]> {
  readonly #maxEntries: number
  readonly #maxWeight: number
  readonly #options: BoundedMapOptions<K, V>
  readonly #entries = new Map<K, V>()
  #weight = 0

  constructor(maxEntries: number, options: BoundedMapOptions<K, V> = {}) {
    this.#maxEntries = maxEntries
    this.#maxWeight = options.maxWeight ?? Infinity
    this.#options = options
  }

  get size(): number {
    return this.#entries.size
  }

  has(key: K): boolean {
    return this.#entries.has(key)
  }

  get(key: K): V | undefined {
    const value = this.#entries.get(key)
    if (this.#options.touchOnGet === true && value !== undefined) {
      this.#entries.delete(key)
      this.#entries.set(key, value)
    }
    return value
  }

  /** Stores an entry as the youngest one, and drops the oldest entries beyond the bounds. */
  set(key: K, value: V): this {
    this.delete(key)
    const weight = this.#weightOf(key, value)
    if (weight > this.#maxWeight) return this
    this.#entries.set(key, value)
    this.#weight += weight
    if (!this.#isOverfull()) return this // an iterator per entry would cost more than the entry
    for (const [oldest, dropped] of this.#entries) {
      this.#drop(oldest, dropped)
      if (!this.#isOverfull()) break
    }
    return this
  }

  /** Returns false when the map has no such entry. */
  delete(key: K): boolean {
    const value = this.#entries.get(key)
    if (value === undefined) return false
    this.#weight -= this.#weightOf(key, value)
    return this.#entries.delete(key)
  }

  clear(): void {
    this.#entries.clear()
    this.#weight = 0
  }

  /** Drops entries, the oldest first, until `isDue` returns false. Removes expired entries where the oldest entry expires first. */
  dropOldestWhile(isDue: (value: V, key: K) => boolean): void {
    for (const [key, value] of this.#entries) {
      if (!isDue(value, key)) return
      this.#drop(key, value)
    }
  }

  keys(): MapIterator<K> {
    return this.#entries.keys()
  }

  values(): MapIterator<V> {
    return this.#entries.values()
  }

  [Symbol.iterator](): MapIterator<[K, V]> {
    return this.#entries[Symbol.iterator]()
  }

  #isOverfull(): boolean {
    return this.#entries.size > this.#maxEntries || this.#weight > this.#maxWeight
  }

  #drop(key: K, value: V): void {
    this.delete(key)
    this.#options.onDrop?.(value, key)
  }

  #weightOf(key: K, value: V): number {
    return this.#options.weightOf?.(value, key) ?? 0
  }
}
