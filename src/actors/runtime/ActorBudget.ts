import { Context, Layer } from "effect"
import { Settings } from "#domain/ports/Settings.ts"
import { AlarmTimer } from "./AlarmTimer.ts"

/** An actor that rests: what the budget sees of it. */
export abstract class Resident {
  older: Resident | undefined = undefined
  newer: Resident | undefined = undefined
  /** Gives its state up; its alarm stays. */
  abstract sleep(): void
}

/** Whoever was woken, and not begun yet. */
export interface Starter {
  readonly start: () => void
}

/**
 * Begins those together that were woken together, of all partitions: a fiber and a turn of the event loop for each of them cost as much as
 * a poll.
 */
class StartBatch {
  #waiting: Array<Starter> = []

  /** `later` calls what it is given, not before this call has returned. */
  add(starter: Starter, later: (run: () => void) => void): void {
    if (this.#waiting.push(starter) === 1) later(this.#run)
  }

  readonly #run = (): void => {
    const starters = this.#waiting
    this.#waiting = []
    for (const starter of starters) starter.start()
  }
}

/**
 * How many actors a runner keeps in memory, over all its partitions.
 *
 * Actors that rest stand in a list, the least recently awake first; beyond `maxResident` that one is put to sleep. Alarms of patient actors
 * do not ring while `maxAwake` of them are awake: a million overdue polls, or a database that is away, make no million fibers.
 */
export class Budget {
  /** Rings the alarms of all of them. */
  readonly alarmTimer = new AlarmTimer()
  readonly starts = new StartBatch()
  readonly #maxResident: number
  readonly #maxAwake: number
  #oldest: Resident | undefined = undefined
  #newest: Resident | undefined = undefined
  #resting = 0
  #awake = 0
  readonly #waiting: Array<() => void> = []

  constructor(maxResident: number, maxAwake: number) {
    this.#maxResident = maxResident
    this.#maxAwake = maxAwake
  }

  /** Actors that rest in the list. */
  get resting(): number {
    return this.#resting
  }

  /** Patient actors that are awake. */
  get awake(): number {
    return this.#awake
  }

  get hasPlace(): boolean {
    return this.#awake < this.#maxAwake
  }

  /** Puts an actor at the end of the list; the first of it may have to sleep. */
  rest(resident: Resident): void {
    resident.older = this.#newest
    if (this.#newest === undefined) this.#oldest = resident
    else this.#newest.newer = resident
    this.#newest = resident
    if (++this.#resting <= this.#maxResident || this.#oldest === undefined) return
    const oldest = this.#oldest
    this.rouse(oldest)
    oldest.sleep()
  }

  /** Takes an actor out of the list. */
  rouse(resident: Resident): void {
    if (resident.older === undefined) this.#oldest = resident.newer
    else resident.older.newer = resident.newer
    if (resident.newer === undefined) this.#newest = resident.older
    else resident.newer.older = resident.older
    resident.older = undefined
    resident.newer = undefined
    this.#resting--
  }

  enter(): void {
    this.#awake++
  }

  leave(): void {
    this.#awake--
    this.offer()
  }

  /** Calls `waiting` once, when there may be a place. */
  whenPlace(waiting: () => void): void {
    this.#waiting.push(waiting)
  }

  /** Offers a free place to the first who waits; who does not need it offers it again. */
  offer(): void {
    if (this.hasPlace) this.#waiting.shift()?.()
  }
}

/** The budget of this runner. */
export class ActorBudget extends Context.Service<ActorBudget, Budget>()("windhover/actors/runtime/ActorBudget") {
  static readonly layer = Layer.effect(
    ActorBudget,
    Settings.useSync(({ maxFetches, maxResident }) => new Budget(maxResident, maxFetches * awakeForAFetch))
  )
}

/** So many polls may be awake for each fetch that may be under way: those that load, parse and record besides it. */
const awakeForAFetch = 4
