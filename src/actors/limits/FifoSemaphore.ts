import { Effect } from "effect"

/**
 * Places for so many at once; who comes when all are taken waits, in order of arrival.
 *
 * What Effect's Semaphore does for any number of permits, at a constant cost: there each release looks at everybody who waits, and here
 * a hundred thousand deliveries may.
 */
export class FifoSemaphore {
  #free: number
  readonly #waiting = new Set<() => void>()
  #admitting = false

  constructor(width: number) {
    this.#free = width
  }

  /** Who waits. */
  get waiting(): number {
    return this.#waiting.size
  }

  /** Runs `effect` in a place of its own. What leaves it stands around before it is taken: an interruption in between would lose it. */
  withPermit<A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.suspend(() => {
      let entered = false
      const inside = () => {
        entered = true
        return effect
      }
      const inTurn = () =>
        Effect.uninterruptibleMask((restore) => Effect.flatMap(this.acquire(restore), () => restore(inside())))
      return Effect.onExit(Effect.suspend(() => this.tryAcquire() ? inside() : inTurn()), () => {
        if (entered) this.release()
        return Effect.void
      })
    })
  }

  /** Takes a place, to be left once, if there is one. */
  tryAcquire(): boolean {
    if (this.#free === 0) return false
    this.#free--
    return true
  }

  /** Takes a place, to be left once; for an uninterruptible region that gives its `restore`. */
  acquire(restore: (wait: Effect.Effect<void>) => Effect.Effect<void>): Effect.Effect<void> {
    return Effect.suspend(() => this.tryAcquire() ? Effect.void : restore(this.#wait))
  }

  /** Its caller has a place when it is resumed. */
  readonly #wait = Effect.callback<void>((resume) => {
    const enter = () => resume(Effect.void)
    this.#waiting.add(enter)
    return Effect.sync(() => this.#waiting.delete(enter))
  })

  release(): void {
    this.#free++
    this.#admit()
  }

  /** A loop, not a call from one who leaves to the next: who is done at once would leave a hundred thousand calls deep. */
  #admit(): void {
    if (this.#admitting) return
    this.#admitting = true
    for (const enter of this.#waiting) {
      if (this.#free === 0) break
      this.#free--
      this.#waiting.delete(enter)
      enter()
    }
    this.#admitting = false
  }
}
