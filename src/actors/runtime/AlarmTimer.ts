import { AlarmQueue } from "./AlarmQueue.ts"

/** Somebody with alarms. */
export interface AlarmSource {
  /** When its first alarm is due, epoch ms; undefined when it has none, or does not want it rung. */
  readonly next: number | undefined
  /** Rings what is due. Throws nothing. */
  readonly fire: (now: number) => void
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

/**
 * One timer for the alarms of all partitions of a runner.
 *
 * It has an alarm for each ringer and looks at those that are due: to ask hundreds of them at each ring was a tenth of the work of the main
 * thread. Where a first alarm has become later, the bell finds out when it rings in vain.
 */
export class AlarmTimer {
  readonly #ringers = new Map<AlarmSource, number>()
  readonly #byId = new Map<number, AlarmSource>()
  readonly #alarms = new AlarmQueue()
  #lastId = 0
  #timer: Timer | undefined
  /** When it will ring. */
  #at = Infinity
  #giveUp: (() => void) | undefined
  #rung = -Infinity

  add(ringer: AlarmSource, timer: Timer): void {
    const id = ++this.#lastId
    this.#ringers.set(ringer, id)
    this.#byId.set(id, ringer)
    this.#timer = timer
  }

  remove(ringer: AlarmSource): void {
    const id = this.#ringers.get(ringer)
    if (id === undefined) return
    this.#ringers.delete(ringer)
    this.#byId.delete(id)
    this.#alarms.clear(id)
    if (this.#ringers.size === 0) this.#silence()
  }

  /** Rings the ringer by then (epoch ms), or soon after. To be told whenever its first alarm has become earlier. */
  expect(ringer: AlarmSource, at: number): void {
    const id = this.#ringers.get(ringer)
    if (id === undefined || (this.#alarms.of(id) ?? Infinity) <= at) return
    if (this.#alarms.set(id, at)) this.#wind(at)
  }

  #wind(at: number): void {
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
    for (const ringer of this.#due(now)) {
      ringer.fire(now)
      if (ringer.next !== undefined) this.expect(ringer, ringer.next)
    }
    const { next } = this.#alarms
    if (next !== undefined) this.#wind(next)
  }

  /** Those that it is time for; each once, whatever its next alarm will be. */
  #due(now: number): ReadonlyArray<AlarmSource> {
    const due: Array<AlarmSource> = []
    for (let id = this.#alarms.due(now); id !== undefined; id = this.#alarms.due(now)) {
      const ringer = this.#byId.get(id)
      if (ringer !== undefined) due.push(ringer)
    }
    return due
  }

  #silence(): void {
    this.#giveUp?.()
    this.#giveUp = undefined
    this.#at = Infinity
  }
}
