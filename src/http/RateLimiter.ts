/** How much may be used at once, and how fast it comes back. */
export interface Allowance {
  readonly burst: number
  readonly perMinute: number
}

/**
 * Allowances that are used up and come back with time, one a key: the generic cell rate algorithm, one number a key.
 *
 * The number is the time at which the key has its whole burst again.
 */
export class RateLimiter {
  readonly #interval: number
  readonly #tolerance: number
  readonly #maxDebt: number
  readonly #maxKeys: number
  readonly #full = new Map<string, number>()

  /** `maxDebt` in milliseconds: the longest wait that use beyond the allowance can add up to. */
  constructor({ burst, perMinute }: Allowance, options: { readonly maxKeys: number; readonly maxDebt: number }) {
    this.#interval = 60_000 / perMinute
    this.#tolerance = this.#interval * burst
    this.#maxDebt = options.maxDebt
    this.#maxKeys = options.maxKeys
  }

  /** Milliseconds until one is to be had; 0 when it is. */
  wait(key: string, now: number): number {
    const full = this.#full.get(key) ?? now
    return Math.max(0, full + this.#interval - now - this.#tolerance)
  }

  /** Uses one, whether it is to be had or not. */
  use(key: string, now: number): void {
    const full = Math.max(this.#full.get(key) ?? now, now) + this.#interval
    this.#full.delete(key)
    this.#makeRoom(now)
    this.#full.set(key, Math.min(full, now + this.#tolerance + this.#maxDebt))
  }

  /** Forgets keys that have their burst again, and at worst those that were not used for longest. */
  #makeRoom(now: number): void {
    for (const [key, full] of this.#full) {
      if (full > now && this.#full.size < this.#maxKeys) break
      this.#full.delete(key)
    }
  }
}
