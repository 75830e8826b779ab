import { AlarmQueue } from "./AlarmQueue.ts"

/** A set of alarms that shares the timer. */
export interface AlarmSource {
  /** Time of its first alarm, epoch ms; undefined when none is to fire. */
  readonly next: number | undefined
  /** Fires the due alarms. Never throws. */
  readonly fire: (now: number) => void
}

/** A clock with one-shot timers. */
export interface Timer {
  /** Epoch ms. */
  readonly now: () => number
  /** Calls `wake` after this time, not before `after` has returned. The returned function cancels the timer. */
  readonly after: (milliseconds: number, wake: () => void) => () => void
}

/**
 * Minimum time between two firings, in ms.
 *
 * Waking the process was the largest cost of a poll without news: a timer and a turn of the event loop for the alarm, and more for the
 * response. Polls that start together share all of these. After a pause, the timer fires exactly on time.
 */
export const minSpacingMs = 20

/**
 * One timer for the alarms of all partitions of a runner.
 *
 * The timer keeps the first alarm of each source and calls only due sources. Asking hundreds of sources each time took a tenth of the main
 * thread's work. After the first alarm of a source has moved back, the timer wakes in vain at the old time.
 */
export class AlarmTimer {
  readonly #ids = new Map<AlarmSource, number>()
  readonly #sources = new Map<number, AlarmSource>()
  /** The first alarm of each source, by its id. */
  readonly #queue = new AlarmQueue()
  #lastId = 0
  #timer: Timer | undefined
  /** Time of the running timer, epoch ms. */
  #timerAt = Infinity
  #cancelTimer: (() => void) | undefined
  #firedAt = -Infinity

  add(source: AlarmSource, timer: Timer): void {
    const id = ++this.#lastId
    this.#ids.set(source, id)
    this.#sources.set(id, source)
    this.#timer = timer
  }

  remove(source: AlarmSource): void {
    const id = this.#ids.get(source)
    if (id === undefined) return
    this.#ids.delete(source)
    this.#sources.delete(id)
    this.#queue.clear(id)
    if (this.#ids.size === 0) this.#cancel()
  }

  /** Fires the source at this time (epoch ms) or soon after. A source calls `expect` whenever its first alarm becomes earlier. */
  fireAt(source: AlarmSource, at: number): void {
    const id = this.#ids.get(source)
    if (id === undefined || (this.#queue.timeOf(id) ?? Infinity) <= at) return
    if (this.#queue.set(id, at)) this.#schedule(at)
  }

  #schedule(at: number): void {
    const due = Math.max(at, this.#firedAt + minSpacingMs)
    if (due >= this.#timerAt || this.#timer === undefined) return
    this.#cancel()
    this.#timerAt = due
    this.#cancelTimer = this.#timer.after(due - this.#timer.now(), this.#fire)
  }

  readonly #fire = (): void => {
    const now = this.#timer?.now() ?? 0
    this.#cancel()
    this.#firedAt = now
    for (const source of this.#takeDue(now)) {
      source.fire(now)
      if (source.next !== undefined) this.fireAt(source, source.next)
    }
    const { next } = this.#queue
    if (next !== undefined) this.#schedule(next)
  }

  /** The due sources, each once: their next alarms may be due again. */
  #takeDue(now: number): ReadonlyArray<AlarmSource> {
    const due: Array<AlarmSource> = []
    for (let id = this.#queue.takeDue(now); id !== undefined; id = this.#queue.takeDue(now)) {
      const source = this.#sources.get(id)
      if (source !== undefined) due.push(source)
    }
    return due
  }

  #cancel(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    this.#timerAt = Infinity
  }
}
