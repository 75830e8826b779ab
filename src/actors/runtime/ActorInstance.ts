import type { Fiber } from "effect"
import type { Self } from "./Actor.ts"
import { type Budget, ResidentActor } from "./ActorBudget.ts"

/** The actor group of an instance, from the view of the instance. */
export interface InstanceGroup<I, M> {
  readonly budget: Budget
  readonly draining: boolean
  readonly join: ((waiting: Array<M>, message: M) => void) | undefined
  /** Starts the fiber of an instance, not before this call has returned. */
  readonly startSoon: (instance: I) => void
  readonly startNow: (instance: I) => void
  readonly setAlarm: (id: number, at: number | undefined) => void
  readonly onRunning: (instance: I) => void
  readonly onNotRunning: (instance: I) => void
  readonly onEvicted: (instance: I) => void
}

/** An actor in memory: its mailbox, its state and its fiber. */
export class ActorInstance<S, M> extends ResidentActor implements Self<S, M> {
  readonly id: number
  readonly #group: InstanceGroup<ActorInstance<S, M>, M>
  /** The mailbox; undefined while empty, because most actors are idle. */
  #waiting: Array<M> | undefined = undefined
  /** True while the budget lists this instance. */
  #listed = false
  state: S | undefined = undefined
  pinned = false
  fiber: Fiber.Fiber<void> | undefined = undefined
  /** True from a wake-up until the instance is idle, suspended or evicted. */
  running = false
  evicted = false

  constructor(id: number, group: InstanceGroup<ActorInstance<S, M>, M>) {
    super()
    this.id = id
    this.#group = group
  }

  take(): M | undefined {
    return this.#group.draining ? undefined : this.#waiting?.shift()
  }

  draining(): boolean {
    return this.#group.draining
  }

  /** Puts a message into the mailbox, and starts the actor unless it runs. */
  accept(message: M): void {
    const { join } = this.#group
    this.#waiting ??= []
    if (join === undefined) this.#waiting.push(message)
    else join(this.#waiting, message)
    if (this.running) return
    this.#unlist()
    this.running = true
    this.#group.onRunning(this)
    this.#group.startSoon(this)
  }

  start(): void {
    if (!this.evicted) this.#group.startNow(this)
  }

  /** Ends a run, and sets the next alarm. Returns false when a message has arrived meanwhile: the actor has to run again. */
  becomeIdle(nextAlarm: number | undefined): boolean {
    if (this.evicted) return true
    if (this.#waiting !== undefined && this.#waiting.length > 0 && !this.#group.draining) return false
    this.#waiting = undefined
    this.#endRun(nextAlarm)
    if (!this.pinned && !this.#group.draining) {
      this.#listed = true
      this.#group.budget.addIdle(this)
    }
    return true
  }

  /** Ends a run after too many crashes. The mailbox stays, and the budget does not passivate the actor. */
  suspend(until: number): void {
    this.#endRun(until)
  }

  /** After a crash: a lost state needs no pin. */
  discardState(): void {
    this.state = undefined
    this.pinned = false
  }

  passivate(): void {
    this.#listed = false
    this.evict()
  }

  /** Removes the instance from memory. The caller interrupts its fiber. */
  evict(): void {
    this.evicted = true
    this.#unlist()
    this.#group.onEvicted(this)
    this.#notRunning()
  }

  #endRun(nextAlarm: number | undefined): void {
    this.fiber = undefined
    this.#group.setAlarm(this.id, nextAlarm)
    this.#notRunning()
  }

  #notRunning(): void {
    if (!this.running) return
    this.running = false
    this.#group.onNotRunning(this)
  }

  #unlist(): void {
    if (!this.#listed) return
    this.#listed = false
    this.#group.budget.removeIdle(this)
  }
}
