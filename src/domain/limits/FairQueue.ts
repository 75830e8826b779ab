import { Effect } from "effect"
import { BoundedMap } from "#domain/collections/BoundedMap.ts"

/** Keys whose use is remembered. */
const maxKeys = 10_000

/** Time that a turn costs at least, in ms. */
const minCostMs = 1

interface Turn {
  readonly key: string
  /** Virtual time of the turn, in ms. */
  startMs: number
  /** Epoch ms; undefined before the turn. */
  startedAt: number | undefined
}

interface Waiter {
  readonly turn: Turn
  readonly admit: () => void
}

/**
 * Turns at one thread, or at other work that is done one at a time, by the time that each key has used: start-time fair queueing.
 *
 * A key that took five seconds waits until the other waiting keys had five seconds, too. An idle key saves up nothing.
 *
 * @see https://dl.acm.org/doi/10.1145/248157.248171
 */
export class FairQueue {
  readonly #now: () => number
  readonly #waiters = new Set<Waiter>()
  /** Virtual end of the last turn of each key. */
  readonly #ends = new BoundedMap<string, number>(maxKeys)
  #virtualMs = 0
  #isBusy = false

  /** `now` is epoch ms. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Runs `effect` in a turn of its own. An interrupted waiter leaves the queue. */
  run<A, E, R>(key: string, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.suspend(() => {
      const turn: Turn = { key, startMs: 0, startedAt: undefined }
      // The end is installed before the turn: an interruption in between would block the queue.
      return Effect.ensuring(Effect.andThen(this.#awaitTurn(turn), effect), Effect.sync(() => this.#end(turn)))
    })
  }

  #awaitTurn(turn: Turn): Effect.Effect<void> {
    return Effect.callback<void>((resume) => {
      turn.startMs = this.#nextStartMs(turn.key)
      if (!this.#isBusy) {
        this.#start(turn)
        return resume(Effect.void)
      }
      const waiter: Waiter = { turn, admit: () => resume(Effect.void) }
      this.#waiters.add(waiter)
      return Effect.sync(() => this.#waiters.delete(waiter))
    })
  }

  #nextStartMs(key: string): number {
    return Math.max(this.#virtualMs, this.#ends.get(key) ?? 0)
  }

  #start(turn: Turn): void {
    this.#isBusy = true
    this.#virtualMs = Math.max(this.#virtualMs, turn.startMs)
    turn.startedAt = this.#now()
  }

  #end({ key, startMs, startedAt }: Turn): void {
    if (startedAt === undefined) return
    const costMs = Math.max(this.#now() - startedAt, minCostMs)
    this.#ends.set(key, startMs + costMs)
    this.#isBusy = false
    const next = this.#takeNext()
    if (next === undefined) return
    this.#start(next.turn)
    next.admit()
  }

  /** Removes and returns the waiter with the earliest turn. Its key may have had turns since its arrival. */
  #takeNext(): Waiter | undefined {
    let next: Waiter | undefined
    for (const waiter of this.#waiters) {
      const { turn } = waiter
      turn.startMs = Math.max(turn.startMs, this.#ends.get(turn.key) ?? 0)
      if (next === undefined || turn.startMs < next.turn.startMs) next = waiter
    }
    if (next !== undefined) this.#waiters.delete(next)
    return next
  }
}
