import { type Cause, Clock, Effect, Fiber, Latch, type Scope } from "effect"
import type { ActorOptions, Actors } from "./Actor.ts"
import { ActorAlarms, type AlarmReceiver } from "./ActorAlarms.ts"
import { ActorBudget, type Budget } from "./ActorBudget.ts"
import { ActorInstance, type InstanceGroup } from "./ActorInstance.ts"
import { actorRestarts, restartCrashed } from "./Supervision.ts"

/** Makes a group of actors that live as long as the scope. */
export const make = Effect.fnUntraced(
  function*<S, M, E = never, R = never>(
    options: ActorOptions<S, M, E, R>
  ): Effect.fn.Return<Actors<M>, never, R | Scope.Scope | ActorBudget> {
    const fork = Effect.runForkWith(yield* Effect.context<R>())
    const group = new ActorGroup(options, yield* ActorBudget, yield* Clock.Clock, fork)
    yield* Effect.addFinalizer(() => group.end)
    return group
  }
)

/** All actors of one kind in one scope. */
class ActorGroup<S, M, E, R> implements Actors<M>, AlarmReceiver, InstanceGroup<ActorInstance<S, M>, M> {
  readonly budget: Budget
  readonly join: ActorOptions<S, M, E, R>["join"]
  draining = false
  readonly #options: ActorOptions<S, M, E, R>
  readonly #fork: (run: Effect.Effect<void, never, R>) => Fiber.Fiber<void>
  readonly #clock: Clock.Clock
  readonly #instances = new Map<number, ActorInstance<S, M>>()
  readonly #alarms: ActorAlarms
  #runningCount = 0
  /** Opens when the group drains and its last actor stops running. */
  readonly #drained = Latch.makeUnsafe()

  constructor(
    options: ActorOptions<S, M, E, R>,
    budget: Budget,
    clock: Clock.Clock,
    fork: (run: Effect.Effect<void, never, R>) => Fiber.Fiber<void>
  ) {
    this.#options = options
    this.join = options.join
    this.budget = budget
    this.#clock = clock
    this.#fork = fork
    this.#alarms = new ActorAlarms(this, budget, options.needsSlot === true)
  }

  readonly tell = (id: number, message: M) => Effect.sync(() => this.#wake(id, message))

  readonly wakeAt = (id: number, at: number) => Effect.sync(() => this.setAlarm(id, at))

  readonly wakeAllAt = (ids: Float64Array, at: Float64Array) =>
    Effect.sync(() => {
      this.#alarms.reserve(ids.length)
      ids.forEach((id, i) => this.setAlarm(id, at[i]))
    })

  readonly stop = (id: number) =>
    Effect.suspend(() => {
      this.setAlarm(id, undefined)
      const instance = this.#instances.get(id)
      if (instance === undefined) return Effect.void
      const { fiber } = instance
      instance.evict()
      return fiber === undefined ? Effect.void : Fiber.interrupt(fiber)
    })

  readonly drain = Effect.suspend(() => {
    this.draining = true
    return this.#runningCount === 0 ? Effect.void : this.#drained.await
  })

  readonly counts = Effect.sync(() => ({
    running: this.#runningCount,
    resident: this.#instances.size,
    alarms: this.#alarms.size
  }))

  get alarmCount(): number {
    return this.#alarms.size
  }

  hasAlarm(id: number): boolean {
    return this.#alarms.has(id)
  }

  forEachAlarmBefore(time: number, visit: (id: number) => void): void {
    this.#alarms.forEachBefore(time, visit)
  }

  readonly end = Effect.suspend(() => {
    this.draining = true
    this.#alarms.close()
    const instances = [...this.#instances.values()]
    const fibers = instances.flatMap(({ fiber }) => fiber ?? [])
    for (const instance of instances) instance.evict()
    return Fiber.interruptAll(fibers)
  })

  readonly now = () => this.#clock.currentTimeMillisUnsafe()

  readonly after = (milliseconds: number, wake: () => void) => {
    const fiber = this.#fork(
      Effect.andThen(milliseconds > 0 ? Effect.sleep(milliseconds) : Effect.yieldNow, Effect.sync(wake))
    )
    return () => fiber.interruptUnsafe()
  }

  readonly wakeByAlarm = (id: number): void => this.#wake(id, this.#options.alarm)

  readonly reportAlarmDefect = (id: number, defect: unknown): void =>
    void this.#fork(
      Effect.annotateLogs(Effect.logFatal("An alarm of an actor crashed; it fires again in 1 s.", defect), {
        actor: this.#options.name,
        id
      })
    )

  /** Starts after the current turn: a resource that wakes ten thousand subscriptions finishes its own work first. */
  startSoon(instance: ActorInstance<S, M>): void {
    this.budget.startBatch.add(instance, this.#afterThisTurn)
  }

  readonly #afterThisTurn = (run: () => void): void =>
    void this.#fork(Effect.andThen(Effect.yieldNow, Effect.sync(run)))

  /** A run that ends within `fork` leaves no fiber: the instance is idle then. */
  startNow(instance: ActorInstance<S, M>): void {
    const fiber = this.#fork(this.#run(instance))
    if (instance.running) instance.fiber = fiber
  }

  setAlarm(id: number, at: number | undefined): void {
    this.#alarms.set(id, at)
  }

  onRunning(): void {
    this.#runningCount++
    if (this.#options.needsSlot === true) this.budget.takeSlot(this)
  }

  onNotRunning(): void {
    this.#runningCount--
    if (this.#options.needsSlot === true) this.budget.releaseSlot()
    if (this.#runningCount === 0 && this.draining) this.#drained.openUnsafe()
  }

  onEvicted({ id }: ActorInstance<S, M>): void {
    this.#instances.delete(id)
  }

  #wake(id: number, message: M): void {
    if (this.draining) return
    let instance = this.#instances.get(id)
    if (instance === undefined) this.#instances.set(id, instance = new ActorInstance(id, this))
    instance.accept(message)
  }

  /** Each poll and each delivery runs through this effect: one match and no other layer around the behavior. */
  #run(instance: ActorInstance<S, M>): Effect.Effect<void, never, R> {
    return Effect.matchCauseEffect(Effect.suspend(() => this.#options.behavior(instance)), {
      onFailure: (cause) => instance.evicted ? Effect.void : this.#restart(instance, cause),
      onSuccess: (nextAlarm) => this.#endRun(instance, nextAlarm)
    })
  }

  /** The check of the mailbox and the end of the run are one synchronous step, so that no message is left behind. */
  #endRun(instance: ActorInstance<S, M>, nextAlarm: number | undefined): Effect.Effect<void, never, R> {
    return instance.becomeIdle(nextAlarm) ? Effect.void : this.#run(instance)
  }

  #restart(instance: ActorInstance<S, M>, crash: Cause.Cause<E>): Effect.Effect<void, never, R> {
    const { behavior, name, restarts } = this.#options
    const supervised = {
      name,
      id: instance.id,
      behavior: Effect.suspend(() => behavior(instance)),
      restarts: restarts ?? actorRestarts,
      discardState: () => instance.discardState(),
      isStopped: () => instance.evicted
    }
    return Effect.flatMap(restartCrashed(supervised, crash), (end) => {
      if (end._tag === "Completed") return this.#endRun(instance, end.nextAlarm)
      if (end._tag === "Suspended") instance.suspend(end.until)
      return Effect.void
    })
  }
}
