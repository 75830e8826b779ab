import { Context, Layer } from "effect"
import { Settings } from "#domain/ports/Settings.ts"
import { AlarmTimer } from "./AlarmTimer.ts"

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

/**
 * Limits of the actors that a runner has in memory, across its partitions.
 *
 * Idle actors form a list, the least recently used first. Beyond `maxIdle` the budget passivates the first one. Alarms of actors that need
 * a slot wait while `maxSlots` of these actors run: a million overdue polls, or a database outage, start no million fibers.
 */
export class Budget {
  /** Fires the alarms of all groups. */
  readonly alarmTimer = new AlarmTimer()
  readonly startBatch = new StartBatch()
  readonly #maxIdle: number
  readonly #maxSlots: number
  #oldest: ResidentActor | undefined = undefined
  #newest: ResidentActor | undefined = undefined
  #idleCount = 0
  #slotsInUse = 0
  readonly #waiting: Array<() => void> = []

  constructor(maxIdle: number, maxSlots: number) {
    this.#maxIdle = maxIdle
    this.#maxSlots = maxSlots
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
    return this.#slotsInUse < this.#maxSlots
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
  takeSlot(): void {
    this.#slotsInUse++
  }

  releaseSlot(): void {
    this.#slotsInUse--
    this.offerSlot()
  }

  /** Calls `callback` once, when a slot may be free. */
  whenSlotFree(callback: () => void): void {
    this.#waiting.push(callback)
  }

  /** Offers a free slot to the group that has waited longest. A group without a due alarm offers the slot to the next group. */
  offerSlot(): void {
    if (this.hasSlot) this.#waiting.shift()?.()
  }
}

/** Slots for each fetch that may be in flight: other polls load, parse and record meanwhile. */
const slotsPerFetch = 4

/** The budget of this runner. */
export class ActorBudget extends Context.Service<ActorBudget, Budget>()("windhover/actors/runtime/ActorBudget") {
  static readonly layer = Layer.effect(
    ActorBudget,
    Settings.useSync(({ maxFetches, maxResident }) => new Budget(maxResident, maxFetches * slotsPerFetch))
  )
}
