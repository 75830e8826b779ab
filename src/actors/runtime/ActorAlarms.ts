import type { Budget } from "./ActorBudget.ts"
import { AlarmQueue } from "./AlarmQueue.ts"
import type { AlarmSource, Timer } from "./AlarmTimer.ts"

/** Wait before an alarm that threw fires again, in ms. */
const defectRetryMs = 1_000

/** The actor group that receives the alarms. */
export interface AlarmReceiver extends Timer {
  /** Sends the alarm message to an actor. A defect of the mailbox throws. */
  readonly wakeByAlarm: (id: number) => void
  readonly draining: boolean
  /** Reports an alarm that threw. */
  readonly reportAlarmDefect: (id: number, defect: unknown) => void
}

/** The alarms of one actor group. With `needsSlot`, alarms fire only while the budget has a free slot. */
export class ActorAlarms implements AlarmSource {
  readonly #receiver: AlarmReceiver
  readonly #budget: Budget
  readonly #needsSlot: boolean
  readonly #queue = new AlarmQueue()
  #waitsForSlot = false

  constructor(receiver: AlarmReceiver, budget: Budget, needsSlot: boolean) {
    this.#receiver = receiver
    this.#budget = budget
    this.#needsSlot = needsSlot
    budget.alarmTimer.add(this, receiver)
  }

  get size(): number {
    return this.#queue.size
  }

  has(id: number): boolean {
    return this.#queue.timeOf(id) !== undefined
  }

  /** Undefined while the group waits for a slot, because the budget then calls the group. */
  get next(): number | undefined {
    return this.#waitsForSlot ? undefined : this.#queue.next
  }

  forEachBefore(time: number, visit: (id: number) => void): void {
    this.#queue.forEachBefore(time, visit)
  }

  reserve(count: number): void {
    this.#queue.reserve(count)
  }

  /** Sets, moves or (undefined) clears the alarm of an actor. */
  set(id: number, at: number | undefined): void {
    if (at === undefined) this.#queue.clear(id)
    else if (this.#queue.set(id, at)) this.#scheduleNext()
  }

  /** Ends the alarms of the group. */
  close(): void {
    this.#budget.alarmTimer.remove(this)
  }

  readonly fire = (now: number): void => {
    while (!this.#needsSlot || this.#budget.hasSlot) {
      const id = this.#queue.takeDue(now)
      if (id === undefined) break
      this.#fireOne(id, now)
    }
    if (!this.#needsSlot) return
    const { next = Infinity } = this.#queue
    if (this.#budget.hasSlot) this.#budget.offerSlot()
    else if (next <= now) this.#waitForSlot(next)
  }

  /** A defect loses no alarm: this one fires again, and the next ones fire now. */
  #fireOne(id: number, now: number): void {
    try {
      this.#receiver.wakeByAlarm(id)
    } catch (defect) {
      this.#queue.set(id, now + defectRetryMs)
      this.#receiver.reportAlarmDefect(id, defect)
    }
  }

  #scheduleNext(): void {
    const { next } = this
    if (next !== undefined) this.#budget.alarmTimer.fireAt(this, next)
  }

  #waitForSlot(dueAt: number): void {
    if (this.#waitsForSlot) return
    this.#waitsForSlot = true
    this.#budget.whenSlotFree({ dueAt, onSlot: this.#onSlot })
  }

  readonly #onSlot = (): void => {
    this.#waitsForSlot = false
    if (this.#receiver.draining) return this.#budget.offerSlot()
    this.fire(this.#receiver.now())
    this.#scheduleNext()
  }
}
