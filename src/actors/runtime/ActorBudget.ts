import { Context, Layer } from "effect"
import { Settings } from "#domain/ports/Settings.ts"
import { AlarmQueue } from "./AlarmQueue.ts"
import { AlarmTimer, type Timer } from "./AlarmTimer.ts"
import { sampleIntervalMs, SlotLimit } from "./SlotLimit.ts"

/** An actor in memory; while idle, a node of the budget's doubly linked list, so that no list allocates. */
export abstract class ResidentActor {
  older: ResidentActor | undefined = undefined
  newer: ResidentActor | undefined = undefined
  /** Starts the actor after a wake-up. */
  abstract start(): void
  /** Drops the actor from memory; its alarm stays. */
  abstract passivate(): void
}

/**
 * Starts all actors together that were woken together, across partitions.
 *
 * A fiber and a turn of the event loop for each actor would cost as much as a poll.
 */
class StartBatch {
  #waiting: Array<ResidentActor> = []

  /** `defer` calls its argument later, not before this call has returned. */
  add(actor: ResidentActor, defer: (run: () => void) => void): void {
    if (this.#waiting.push(actor) === 1) defer(this.#startAll)
  }

  readonly #startAll = (): void => {
    const actors = this.#waiting
    this.#waiting = []
    for (const actor of actors) actor.start()
  }
}

/** A group of actors with due alarms that needs a slot. */
export interface SlotWaiter {
  /** Time of its first alarm, epoch ms. */
  readonly dueAt: number
  /** Called once, when a slot is free. */
  readonly onSlot: () => void
}

/**
 * Limits of the actors that a runner has in memory, across its partitions.
 *
 * Idle actors form a list, the least recently used first. Beyond `maxIdle` the budget passivates the first one. Alarms of actors that need
 * a slot wait while as many of these actors run as `SlotLimit` has slots: a million overdue polls, or a database outage, start no million
 * fibers. Free slots go to the earliest alarm, so that all resources are equally late.
 */
export class Budget {
  /** Fires the alarms of all groups. */
  readonly alarmTimer = new AlarmTimer()
  readonly startBatch = new StartBatch()
  readonly #maxIdle: number
  readonly #slotLimit: SlotLimit
  #oldest: ResidentActor | undefined = undefined
  #newest: ResidentActor | undefined = undefined
  #idleCount = 0
  #slotsInUse = 0
  #isSampling = false
  #lastWaiter = 0
  /** The waiting groups, by their first alarms. */
  readonly #queue = new AlarmQueue()
  readonly #waiters = new Map<number, SlotWaiter>()

  constructor(maxIdle: number, maxSlots: number) {
    this.#maxIdle = maxIdle
    this.#slotLimit = new SlotLimit(minSlots, maxSlots)
  }

  /** Number of idle actors in the list. */
  get idleCount(): number {
    return this.#idleCount
  }

  /** Number of running actors that need a slot. */
  get slotsInUse(): number {
    return this.#slotsInUse
  }

  get hasSlot(): boolean {
    return this.#slotsInUse < this.#slotLimit.current
  }

  /** Number of actors that may take a slot at once, at present. */
  get slotLimit(): number {
    return this.#slotLimit.current
  }

  /** Appends an actor to the list, and passivates the first one when the list is full. */
  addIdle(actor: ResidentActor): void {
    actor.older = this.#newest
    if (this.#newest === undefined) this.#oldest = actor
    else this.#newest.newer = actor
    this.#newest = actor
    if (++this.#idleCount <= this.#maxIdle || this.#oldest === undefined) return
    const oldest = this.#oldest
    this.removeIdle(oldest)
    oldest.passivate()
  }

  removeIdle(actor: ResidentActor): void {
    if (actor.older === undefined) this.#oldest = actor.newer
    else actor.older.newer = actor.newer
    if (actor.newer === undefined) this.#newest = actor.older
    else actor.newer.older = actor.older
    actor.older = undefined
    actor.newer = undefined
    this.#idleCount--
  }

  /** Messages take a slot even when none is free; only alarms wait. */
  takeSlot(timer: Timer): void {
    if (++this.#slotsInUse >= this.#slotLimit.sampleFrom && !this.#isSampling) this.#sampleLag(timer)
  }

  releaseSlot(): void {
    this.#slotsInUse--
    this.offerSlot()
  }

  whenSlotFree(waiter: SlotWaiter): void {
    const id = ++this.#lastWaiter
    this.#waiters.set(id, waiter)
    this.#queue.set(id, waiter.dueAt)
  }

  /** Offers a free slot to the group with the earliest alarm. A group without a due alarm offers the slot to the next group. */
  offerSlot(): void {
    const id = this.hasSlot ? this.#queue.takeDue(Infinity) : undefined
    if (id === undefined) return
    const waiter = this.#waiters.get(id)
    this.#waiters.delete(id)
    waiter?.onSlot()
  }

  /** Measures the delay of a timer again and again, until few actors have slots. An idle process has no such timer. */
  #sampleLag(timer: Timer): void {
    this.#isSampling = true
    const due = timer.now() + sampleIntervalMs
    timer.after(sampleIntervalMs, () => {
      this.#isSampling = false
      this.#slotLimit.observe(timer.now() - due)
      if (this.#slotsInUse >= this.#slotLimit.sampleFrom || this.#queue.size > 0) this.#sampleLag(timer)
      while (this.hasSlot && this.#queue.size > 0) this.offerSlot()
    })
  }
}

/** Slots for each fetch that may be in flight: other polls load, parse and record meanwhile. */
const slotsPerFetch = 4

/** Slots that polls always have. The polls of so many slots delay the event loop by some milliseconds. */
const minSlots = 32

/** The budget of this runner. */
export class ActorBudget extends Context.Service<ActorBudget, Budget>()("windhover/actors/runtime/ActorBudget") {
  static readonly layer = Layer.effect(
    ActorBudget,
    Settings.useSync(({ maxFetches, maxResident }) => new Budget(maxResident, maxFetches * slotsPerFetch))
  )
}
