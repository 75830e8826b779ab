import { BoundedMap } from "#domain/collections/BoundedMap.ts"

/** A rate: `burst` uses at once, refilled at `perMinute`. */
export interface RateLimit {
  readonly burst: number
  readonly perMinute: number
}

/** Bounds of a limiter. `maxDebtMs` caps the extra wait that uses beyond the rate add up to. */
export interface RateLimiterOptions {
  readonly maxKeys: number
  readonly maxDebtMs: number
}

/**
 * Limits the rate of each key with the generic cell rate algorithm. The state of a key is one number: the time of its full burst, epoch ms.
 *
 * Beyond `maxKeys`, the limiter forgets the least recently used key.
 */
export class RateLimiter {
  readonly #intervalMs: number
  readonly #burstMs: number
  readonly #maxDebtMs: number
  readonly #fullAt: BoundedMap<string, number>

  constructor({ burst, perMinute }: RateLimit, { maxDebtMs, maxKeys }: RateLimiterOptions) {
    this.#intervalMs = 60_000 / perMinute
    this.#burstMs = this.#intervalMs * burst
    this.#maxDebtMs = maxDebtMs
    this.#fullAt = new BoundedMap(maxKeys)
  }

  /** Milliseconds until the key has `uses` left, which are at most a burst; 0 when it has them now. */
  waitMs(key: string, now: number, uses = 1): number {
    const fullAt = Math.max(this.#fullAt.get(key) ?? now, now)
    return Math.max(0, fullAt + uses * this.#intervalMs - now - this.#burstMs)
  }

  /** Counts one use and returns 0, or returns the milliseconds until the key has a use left. */
  tryUse(key: string, now: number): number {
    const waitMs = this.waitMs(key, now)
    if (waitMs === 0) this.use(key, now)
    return waitMs
  }

  /** Counts uses, even beyond the rate. Forgets keys that have their full burst again. */
  use(key: string, now: number, uses = 1): void {
    const fullAt = Math.max(this.#fullAt.get(key) ?? now, now) + this.#intervalMs * uses
    this.#fullAt.delete(key)
    this.#fullAt.dropOldestWhile((at) => at <= now)
    this.#fullAt.set(key, Math.min(fullAt, now + this.#burstMs + this.#maxDebtMs))
  }
}
