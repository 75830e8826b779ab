import { type Cause, Clock, Effect, Fiber, Latch, Metric, Schedule, type Scope } from "effect"
import { AlarmQueue } from "./AlarmQueue.ts"
import type { AlarmSource, Timer } from "./AlarmTimer.ts"
import { actorCrashes, actorsRetired } from "./Metrics.ts"
import { ActorBudget, type Budget, Resident, type Starter } from "./ActorBudget.ts"

/**
 * Virtual actors: every id is one, and costs nothing but its alarm while it is asleep.
 *
 *              tell, alarm                      mailbox empty
 *   asleep ----------------> awake (a fiber) <----------------> resting (state kept, no fiber)
 *      ^                        |    ^           tell, alarm           |
 *      |                  crash |    | waits of `restart`              |
 *      |                        +----+                                 |
 *      |                        | they are through                     |
 *      |                        v                                      |
 *      |                     retired (mailbox kept) --- tell, alarm after five minutes ---> awake
 *      +---------------------------------------------------------------+
 *                least recently awake of the runner, beyond its budget
 *
 * One fiber runs the behaviour of an actor at any time: its messages are taken in order, and its state has a single owner.
 */
export interface Actors<M> {
  /** Puts a message into the mailbox and wakes the actor. */
  readonly tell: (id: number, message: M) => Effect.Effect<void>
  /** Sets the alarm of an actor (epoch ms), in place of its earlier one; an awake one says its next alarm by itself. */
  readonly wakeAt: (id: number, at: number) => Effect.Effect<void>
  /** Ends whatever the actor does, and forgets its state, mailbox and alarm. Returns when its fiber has ended. */
  readonly stop: (id: number) => Effect.Effect<void>
  /** Nobody is woken from now on; returns when those that are awake have come to rest. */
  readonly drain: Effect.Effect<void>
  readonly counts: Effect.Effect<{ readonly awake: number; readonly resident: number; readonly alarms: number }>
}

/** An actor as its own behaviour sees it. */
export interface Self<S, M> {
  readonly id: number
  /** Kept between messages while the actor is resident; undefined after sleep or a crash: load it then. */
  state: S | undefined
  /** True while the state holds what no row says: such an actor is not put to sleep. */
  keep: boolean
  /** The next message; undefined when the mailbox is empty, and always while draining. */
  readonly take: () => M | undefined
  /** True when the runner stops: finish what is begun, begin nothing. */
  readonly draining: () => boolean
}

export interface Options<S, M, E, R> {
  /** For logs and metrics. */
  readonly name: string
  /** The message that an alarm sends. */
  readonly alarm: M
  /** Takes messages until there are none; returns its next alarm (epoch ms), or undefined for none. */
  readonly behavior: (self: Self<S, M>) => Effect.Effect<number | undefined, E, R>
  /** How a message joins the waiting ones: here they are merged, and the mailbox is bounded. */
  readonly join?: (waiting: Array<M>, message: M) => void
  /** Its alarms wait while too many patient actors are awake on this runner. */
  readonly patient?: boolean
  readonly restart?: Schedule.Schedule<unknown, Cause.Cause<E>>
}

/** Waits before a crashed actor runs again: 0.25, 0.5, 1, 2, 4, 8, 16 and 32 s. The count starts anew after each good run. */
const restart = Schedule.exponential("250 millis").pipe(Schedule.upTo({ times: 8 }))

/** An actor whose restarts are through gets an alarm after so many ms: it is never silently dead. */
const revival = 300_000

/** Actors that live as long as the scope. */
export const make = Effect.fnUntraced(
  function*<S, M, E, R>(
    options: Options<S, M, E, R>
  ): Effect.fn.Return<Actors<M>, never, R | Scope.Scope | ActorBudget> {
    const fork = Effect.runForkWith(yield* Effect.context<R>())
    const troupe = new ActorGroup(options, yield* ActorBudget, yield* Clock.Clock, fork)
    yield* Effect.addFinalizer(() => troupe.end)
    return troupe
  }
)

/** All actors of one kind in one scope. */
class ActorGroup<S, M, E, R> implements Actors<M>, AlarmSource, Timer {
  readonly options: Options<S, M, E, R>
  readonly budget: Budget
  readonly cells = new Map<number, ActorInstance<S, M, E, R>>()
  readonly alarms = new AlarmQueue()
  awake = 0
  readonly #fork: (life: Effect.Effect<void, never, R>) => Fiber.Fiber<void>
  readonly #clock: Clock.Clock
  /** Opened when the last one came to rest, once nobody is woken any more. */
  readonly #quiet = Latch.makeUnsafe()
  #asked = false
  draining = false

  constructor(
    options: Options<S, M, E, R>,
    budget: Budget,
    clock: Clock.Clock,
    fork: (life: Effect.Effect<void, never, R>) => Fiber.Fiber<void>
  ) {
    this.options = options
    this.budget = budget
    this.#clock = clock
    this.#fork = fork
    budget.alarmTimer.add(this, this)
  }

  readonly tell = (id: number, message: M) => Effect.sync(() => this.#wake(id, message))

  readonly wakeAt = (id: number, at: number) => Effect.sync(() => this.setAlarm(id, at))

  readonly stop = (id: number) =>
    Effect.suspend(() => {
      this.alarms.clear(id)
      const cell = this.cells.get(id)
      if (cell === undefined) return Effect.void
      const { fiber } = cell
      cell.forget()
      return fiber === undefined ? Effect.void : Fiber.interrupt(fiber)
    })

  readonly drain = Effect.suspend(() => {
    this.draining = true
    return this.awake === 0 ? Effect.void : this.#quiet.await
  })

  readonly counts = Effect.sync(() => ({
    awake: this.awake,
    resident: this.cells.size,
    alarms: this.alarms.size
  }))

  readonly end = Effect.suspend(() => {
    this.draining = true
    this.budget.alarmTimer.remove(this)
    const cells = [...this.cells.values()]
    const fibers = cells.flatMap(({ fiber }) => fiber ?? [])
    for (const cell of cells) cell.forget()
    return Fiber.interruptAll(fibers)
  })

  /** Later, not here: a resource that tells ten thousand subscriptions must not run them all before it goes on. */
  start(cell: ActorInstance<S, M, E, R>): void {
    this.budget.starts.add(cell, this.#later)
  }

  readonly #later = (run: () => void): void => void this.#fork(Effect.andThen(Effect.yieldNow, Effect.sync(run)))

  /** The fiber may have come to its end before it is known here: then the actor rests. */
  begin(cell: ActorInstance<S, M, E, R>): void {
    const fiber = this.#fork(this.#live(cell))
    if (cell.awake) cell.fiber = fiber
  }

  setAlarm(id: number, at: number | undefined): void {
    if (at === undefined) this.alarms.clear(id)
    else if (this.alarms.set(id, at)) this.#expect()
  }

  entered(cell: ActorInstance<S, M, E, R>): void {
    cell.awake = true
    this.awake++
    if (this.options.patient === true) this.budget.enter()
  }

  left(cell: ActorInstance<S, M, E, R>): void {
    if (!cell.awake) return
    cell.awake = false
    this.awake--
    if (this.options.patient === true) this.budget.leave()
    if (this.awake === 0 && this.draining) this.#quiet.openUnsafe()
  }

  #wake(id: number, message: M): void {
    if (this.draining) return
    let cell = this.cells.get(id)
    if (cell === undefined) this.cells.set(id, cell = new ActorInstance(id, this))
    cell.accept(message)
  }

  /** One match and nothing else around the behaviour: this is run for each poll. */
  #live(cell: ActorInstance<S, M, E, R>): Effect.Effect<void, never, R> {
    return Effect.matchCauseEffect(Effect.suspend(() => this.options.behavior(cell)), {
      onFailure: (cause) => cell.gone ? Effect.void : this.#restart(cell, cause),
      onSuccess: (at) => this.#rest(cell, at)
    })
  }

  /** To fall asleep is one synchronous step, and this call is a part of it, so that no message can come in between. */
  #rest(cell: ActorInstance<S, M, E, R>, at: number | undefined): Effect.Effect<void, never, R> {
    return cell.rest(at) ? Effect.void : this.#live(cell)
  }

  /** Runs a crashed actor again, as the schedule says; its first try is the crash that is known. */
  #restart(cell: ActorInstance<S, M, E, R>, crash: Cause.Cause<E>): Effect.Effect<void, never, R> {
    let known: Cause.Cause<E> | undefined = crash
    return Effect.suspend(() => {
      if (known === undefined) return this.options.behavior(cell)
      const failure = Effect.failCause(known)
      known = undefined
      return failure
    }).pipe(
      Effect.tapCause((cause) => cell.gone ? Effect.void : this.#report(cell, cause)),
      Effect.sandbox,
      Effect.retry(this.options.restart ?? restart),
      Effect.matchCauseEffect({
        onFailure: () => cell.gone ? Effect.void : this.#retire(cell),
        onSuccess: (at) => this.#rest(cell, at)
      })
    )
  }

  #report(cell: ActorInstance<S, M, E, R>, cause: Cause.Cause<E>): Effect.Effect<void> {
    const { name } = this.options
    return Effect.sync(() => cell.lose()).pipe(
      Effect.andThen(Metric.update(Metric.withAttributes(actorCrashes, { actor: name }), 1)),
      Effect.andThen(Effect.logError(`${name} ${cell.id} crashed`, cause))
    )
  }

  #retire(cell: ActorInstance<S, M, E, R>): Effect.Effect<void> {
    const { name } = this.options
    return Effect.logError(`${name} ${cell.id} crashes whenever it runs; it rests for ${revival / 1000} s`).pipe(
      Effect.andThen(Metric.update(Metric.withAttributes(actorsRetired, { actor: name }), 1)),
      Effect.andThen(Clock.currentTimeMillis),
      Effect.map((now) => cell.retire(now + revival))
    )
  }

  readonly now = () => this.#clock.currentTimeMillisUnsafe()

  readonly after = (milliseconds: number, wake: () => void) => {
    const fiber = this.#fork(
      Effect.andThen(milliseconds > 0 ? Effect.sleep(milliseconds) : Effect.yieldNow, Effect.sync(wake))
    )
    return () => fiber.interruptUnsafe()
  }

  /** Who asked for a place is called when there is one. */
  get next(): number | undefined {
    return this.#asked ? undefined : this.alarms.next
  }

  readonly fire = (now: number): void => {
    while (this.#hasPlace) {
      const id = this.alarms.due(now)
      if (id === undefined) break
      this.#ring(id, now)
    }
    if (this.options.patient !== true) return
    if (this.budget.hasPlace) this.budget.offer()
    else if ((this.alarms.next ?? Infinity) <= now) this.#askForPlace()
  }

  /** An alarm that could not be told is not lost, and the others ring. */
  #ring(id: number, now: number): void {
    try {
      this.#wake(id, this.options.alarm)
    } catch (defect) {
      this.alarms.set(id, now + 1000)
      this.#fork(Effect.logFatal(`an alarm of ${this.options.name} ${id} crashed; it rings again in 1 s`, defect))
    }
  }

  #expect(): void {
    const { next } = this
    if (next !== undefined) this.budget.alarmTimer.expect(this, next)
  }

  get #hasPlace(): boolean {
    return this.options.patient !== true || this.budget.hasPlace
  }

  #askForPlace(): void {
    if (this.#asked) return
    this.#asked = true
    this.budget.whenPlace(() => {
      this.#asked = false
      if (this.draining) return this.budget.offer()
      this.fire(this.now())
      this.#expect()
    })
  }
}

/** An actor in memory. */
class ActorInstance<S, M, E, R> extends Resident implements Self<S, M>, Starter {
  readonly id: number
  readonly #troupe: ActorGroup<S, M, E, R>
  #waiting: Array<M> | undefined = undefined
  /** In the list of the budget. */
  #listed = false
  state: S | undefined = undefined
  keep = false
  fiber: Fiber.Fiber<void> | undefined = undefined
  /** Woken, and not yet at rest again. */
  awake = false
  gone = false

  constructor(id: number, troupe: ActorGroup<S, M, E, R>) {
    super()
    this.id = id
    this.#troupe = troupe
  }

  take(): M | undefined {
    return this.#troupe.draining ? undefined : this.#waiting?.shift()
  }

  draining(): boolean {
    return this.#troupe.draining
  }

  accept(message: M): void {
    const { join } = this.#troupe.options
    this.#waiting ??= []
    if (join === undefined) this.#waiting.push(message)
    else join(this.#waiting, message)
    if (this.awake) return
    this.#unlist()
    this.#troupe.entered(this)
    this.#troupe.start(this)
  }

  start(): void {
    if (!this.gone) this.#troupe.begin(this)
  }

  /** False when a message came meanwhile: the actor lives on. */
  rest(at: number | undefined): boolean {
    if (this.gone) return true
    if (this.#waiting !== undefined && this.#waiting.length > 0 && !this.#troupe.draining) return false
    this.#waiting = undefined
    this.retire(at)
    if (!this.keep && !this.#troupe.draining) {
      this.#listed = true
      this.#troupe.budget.rest(this)
    }
    return true
  }

  /** Rests outside of the list: what is in the mailbox is kept. */
  retire(at: number | undefined): void {
    this.fiber = undefined
    this.#troupe.setAlarm(this.id, at)
    this.#troupe.left(this)
  }

  /** A crash leaves no state, and so nothing that has to be kept. */
  lose(): void {
    this.state = undefined
    this.keep = false
  }

  sleep(): void {
    this.#listed = false
    this.forget()
  }

  /** Out of memory. Its fiber, if it has one, is the caller's to interrupt. */
  forget(): void {
    this.gone = true
    this.#unlist()
    this.#troupe.cells.delete(this.id)
    this.#troupe.left(this)
  }

  #unlist(): void {
    if (!this.#listed) return
    this.#listed = false
    this.#troupe.budget.rouse(this)
  }
}
