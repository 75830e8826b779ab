/** Somebody with alarms. */
export interface Ringer {
  /** When its first alarm is due, epoch ms; undefined when it has none, or does not want it rung. */
  readonly next: number | undefined
  /** Rings what is due. Throws nothing. */
  readonly ring: (now: number) => void
}

/** The time, as far as a bell needs it. */
export interface Timer {
  /** Epoch ms. */
  readonly now: () => number
  /** Calls `wake` after so many ms, not before this call has returned; the result gives it up. */
  readonly after: (milliseconds: number, wake: () => void) => () => void
}

/**
 * Milliseconds between two rings, at least.
 *
 * Of the cost of a poll that finds nothing, waking the process was the largest part: a timer and a turn of the event loop for its alarm, more of
 * them for its answer. Polls that begin together share all of these. A bell that has been silent rings at exactly its time.
 */
export const spacing = 20

/** One timer for the alarms of all partitions of a runner. */
export class Bell {
  readonly #ringers = new Set<Ringer>()
  #timer: Timer | undefined
  /** When it will ring. */
  #at = Infinity
  #giveUp: (() => void) | undefined
  #rung = -Infinity

  add(ringer: Ringer, timer: Timer): void {
    this.#ringers.add(ringer)
    this.#timer = timer
  }

  remove(ringer: Ringer): void {
    this.#ringers.delete(ringer)
    if (this.#ringers.size === 0) this.#silence()
  }

  /** Rings by then (epoch ms), or soon after. To be told whenever a first alarm has become earlier. */
  expect(at: number): void {
    const due = Math.max(at, this.#rung + spacing)
    if (due >= this.#at || this.#timer === undefined) return
    this.#silence()
    this.#at = due
    this.#giveUp = this.#timer.after(due - this.#timer.now(), this.#ring)
  }

  readonly #ring = (): void => {
    const now = this.#timer?.now() ?? 0
    this.#silence()
    this.#rung = now
    let next = Infinity
    for (const ringer of this.#ringers) {
      if ((ringer.next ?? Infinity) <= now) ringer.ring(now)
      next = Math.min(next, ringer.next ?? Infinity)
    }
    if (next < Infinity) this.expect(next)
  }

  #silence(): void {
    this.#giveUp?.()
    this.#giveUp = undefined
    this.#at = Infinity
  }
}
