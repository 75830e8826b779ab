import { Effect } from "effect"

/**
 * A semaphore whose waiters get their permits in order of arrival, at a constant cost.
 *
 * Each release of Effect's Semaphore visits all waiters; here a hundred thousand deliveries may wait.
 */
export class FifoSemaphore {
  #free: number
  readonly #waiters = new Set<() => void>()
  #admitting = false

  constructor(permits: number) {
    this.#free = permits
  }

  /** Number of waiters. */
  get waiting(): number {
    return this.#waiters.size
  }

  /** Runs `effect` with a permit. The release is installed before the permit is taken: an interruption in between would lose the permit. */
  withPermit<A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.suspend(() => {
      let acquired = false
      const run = () => {
        acquired = true
        return effect
      }
      const runAfterWait = () =>
        Effect.uninterruptibleMask((restore) => Effect.flatMap(this.acquire(restore), () => restore(run())))
      return Effect.onExit(Effect.suspend(() => this.tryAcquire() ? run() : runAfterWait()), () => {
        if (acquired) this.release()
        return Effect.void
      })
    })
  }

  /** Takes a permit if one is free. The caller releases the permit once. */
  tryAcquire(): boolean {
    if (this.#free === 0) return false
    this.#free--
    return true
  }

  /** Waits for a permit. The caller is uninterruptible, passes its `restore`, and releases the permit once. */
  acquire(restore: (wait: Effect.Effect<void>) => Effect.Effect<void>): Effect.Effect<void> {
    return Effect.suspend(() => this.tryAcquire() ? Effect.void : restore(this.#wait))
  }

  /** Resumes with a permit. */
  readonly #wait = Effect.callback<void>((resume) => {
    const leave = this.queue(() => resume(Effect.void))
    return Effect.sync(leave)
  })

  /** Calls `admit` with a permit, at the end of the queue. Returns a function that leaves the queue. */
  queue(admit: () => void): () => void {
    this.#waiters.add(admit)
    return () => this.#waiters.delete(admit)
  }

  release(): void {
    this.#free++
    this.#admit()
  }

  /** A loop instead of recursion: an effect that ends at once releases within `admit`, a hundred thousand calls deep. */
  #admit(): void {
    if (this.#admitting) return
    this.#admitting = true
    for (const admit of this.#waiters) {
      if (this.#free === 0) break
      this.#free--
      this.#waiters.delete(admit)
      admit()
    }
    this.#admitting = false
  }
}
