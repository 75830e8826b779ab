import { type Cause, Clock, Context, Effect, Fiber, Latch, Metric, Schedule, type Scope } from "effect"
import { AlarmHeap } from "./AlarmHeap.ts"

/**
 * Virtual actors: every id is one, and costs nothing while it is asleep.
 *
 *              tell, alarm                    mailbox empty
 *   asleep ----------------> awake (a fiber) ----------------> resident (state kept, no fiber)
 *      ^                        |     ^                            |         |
 *      |                 crash  |     | restart schedule           |         | tell, alarm
 *      |                        +-----+                            |         +------> awake
 *      +-----------------------------------------------------------+
 *                    least recently awake, beyond `maxResident`
 *
 * One fiber runs the behaviour of an actor at any time: its messages are taken in order, and its state has a single owner.
 */
export interface Actors<M> {
  /** Puts a message into the mailbox and wakes the actor. */
  readonly tell: (id: number, message: M) => Effect.Effect<void>
  /** Sets the alarm of an actor that is asleep (epoch ms); an awake one says its next alarm by itself. */
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
  /** Kept between messages as long as the actor is resident; undefined after sleep or a crash: load it then. */
  state: S | undefined
  /** The next message; undefined when the mailbox is empty, and always while draining. */
  readonly take: () => M | undefined
  /** True when the runner stops: finish what is begun, begin nothing. */
  readonly draining: () => boolean
}

/** Memory for state, shared by all actors of a runner. */
export interface Residency {
  readonly max: number
  resident: number
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
  readonly residency: Residency
}

/**
 * Waits before a crashed actor runs again: 0.25, 0.5, 1, 2, 4, 8, 16 s, then every 30 s, without end: no actor is ever dead.
 *
 * The count starts anew after each good run.
 */
export const restart = Schedule.min([Schedule.exponential("250 millis"), Schedule.spaced("30 seconds")])

/** Crashes by kind of actor. */
export const crashes = Metric.counter("windhover_actor_crashes", { description: "Behaviours that failed or died" })

/** Alarms that were set anew leave their old entry in the heap; so many may lie there before they are swept out. */
const maxStale = 1024

interface Cell<S, M> extends Self<S, M> {
  readonly waiting: Array<M>
  /** The alarm that counts; other entries of the heap for this id are stale. */
  alarmAt: number | undefined
  fiber: Fiber.Fiber<void> | undefined
  /** In the map of residents, and counted. */
  stopped: boolean
}

/** Actors that live as long as the scope. */
export const make = Effect.fnUntraced(
  function*<S, M, E, R>(options: Options<S, M, E, R>): Effect.fn.Return<Actors<M>, never, R | Scope.Scope> {
    const services = yield* Effect.context<R>()
    const fork = Effect.runForkWith(services)
    const crashed = Metric.withAttributes(crashes, { actor: options.name })
    const join = options.join ?? ((waiting: Array<M>, message: M) => void waiting.push(message))
    const cells = new Map<number, Cell<S, M>>() // awake and resident ones, least recently awake first
    const awake = new Set<Cell<S, M>>()
    const alarms = new AlarmHeap()
    const earlier = yield* Latch.make() // opened when the alarm loop has to look again
    const atRest = yield* Latch.make() // opened when the last one came to rest
    let stale = 0
    let draining = false

    const cellOf = (id: number): Cell<S, M> => {
      let cell = cells.get(id)
      if (cell === undefined) {
        const waiting: Array<M> = []
        const take = () => draining ? undefined : waiting.shift()
        cell = {
          id,
          state: undefined,
          take,
          draining: () => draining,
          waiting,
          alarmAt: undefined,
          fiber: undefined,
          stopped: false
        }
        options.residency.resident++
      } else {
        cells.delete(id) // to the end: the most recently awake
      }
      cells.set(id, cell)
      return cell
    }

    const wake = (id: number, message: M): void => {
      if (draining) return
      const cell = cellOf(id)
      join(cell.waiting, message)
      if (awake.has(cell)) return
      awake.add(cell)
      // begun later, not here: a resource that tells ten thousand subscriptions must not run them all before it goes on
      cell.fiber = fork(Effect.andThen(Effect.yieldNow, live(cell)))
    }

    const live = (cell: Cell<S, M>): Effect.Effect<void, never, R> =>
      Effect.suspend(() => options.behavior(cell)).pipe(
        Effect.tapCause((cause) => report(cell, cause)),
        Effect.sandbox,
        Effect.retry(restart),
        Effect.orDie, // the schedule has no end
        // falling asleep is one synchronous step, so that no message can come in between
        Effect.flatMap((at) => Effect.suspend(() => cell.waiting.length > 0 && !draining ? live(cell) : rest(cell, at)))
      )

    const report = (cell: Cell<S, M>, cause: Cause.Cause<E>) =>
      Effect.sync(() => void (cell.state = undefined)).pipe(
        Effect.andThen(Metric.update(crashed, 1)),
        Effect.andThen(Effect.logError(`${options.name} ${cell.id} crashed and is restarted`, cause))
      )

    const rest = (cell: Cell<S, M>, at: number | undefined): Effect.Effect<void> =>
      Effect.sync(() => {
        cell.fiber = undefined
        awake.delete(cell)
        if (awake.size === 0) atRest.openUnsafe()
        if (cell.stopped) return
        setAlarm(cell, at)
        evict()
      })

    const setAlarm = (cell: Cell<S, M>, at: number | undefined): void => {
      if (cell.alarmAt === at) return
      if (cell.alarmAt !== undefined) stale++
      cell.alarmAt = at
      if (at !== undefined) ring(cell.id, at)
      if (stale > maxStale && stale > alarms.size / 2) {
        alarms.retain((at, id) => counts(id, at))
        stale = 0
      }
    }

    const ring = (id: number, at: number): void => {
      if (alarms.push(at, id)) earlier.openUnsafe()
    }

    /** An actor without a cell keeps the alarm of its last rest: it has no other. */
    const counts = (id: number, at: number): boolean => {
      const cell = cells.get(id)
      return cell === undefined || cell.alarmAt === at
    }

    const evict = (): void => {
      if (options.residency.resident <= options.residency.max) return
      for (const [id, cell] of cells) {
        if (awake.has(cell)) continue
        cells.delete(id)
        if (--options.residency.resident <= options.residency.max) return
      }
    }

    const ringDue = (now: number): void => {
      for (let due = alarms.popDue(now); due !== undefined; due = alarms.popDue(now)) {
        const cell = cells.get(due.id)
        if (cell !== undefined) {
          if (cell.alarmAt !== due.at) {
            stale = Math.max(0, stale - 1)
            continue
          }
          cell.alarmAt = undefined
        }
        wake(due.id, options.alarm)
      }
    }

    const alarmLoop = Effect.gen(function*() {
      while (true) {
        const now = yield* Clock.currentTimeMillis
        earlier.closeUnsafe()
        ringDue(now)
        const next = alarms.earliest
        yield* next === undefined ? earlier.await : Effect.timeoutOption(earlier.await, Math.max(1, next - now))
      }
    })

    yield* alarmLoop.pipe(
      Effect.tapCause((cause) => Effect.logError(`the alarms of ${options.name} crashed and are restarted`, cause)),
      Effect.sandbox,
      Effect.retry(restart),
      Effect.forkScoped
    )
    yield* Effect.addFinalizer(() =>
      Effect.suspend(() => {
        draining = true
        options.residency.resident -= cells.size
        cells.clear()
        return Fiber.interruptAll([...awake].flatMap(({ fiber }) => fiber ?? []))
      })
    )

    return {
      tell: (id, message) => Effect.sync(() => wake(id, message)),
      wakeAt: (id, at) =>
        Effect.sync(() => {
          const cell = cells.get(id)
          if (cell === undefined) ring(id, at)
          else if (!awake.has(cell)) setAlarm(cell, at)
        }),
      stop: (id) =>
        Effect.suspend(() => {
          const cell = cells.get(id)
          if (cell === undefined) return Effect.void
          cell.stopped = true
          cell.waiting.length = 0
          cells.delete(id)
          options.residency.resident--
          if (cell.fiber === undefined) return Effect.void
          return Effect.andThen(Fiber.interrupt(cell.fiber), rest(cell, undefined))
        }),
      drain: Effect.suspend(() => {
        draining = true
        atRest.closeUnsafe()
        return awake.size === 0 ? Effect.void : atRest.await
      }),
      counts: Effect.sync(() => ({ awake: awake.size, resident: cells.size, alarms: alarms.size }))
    }
  }
)

/** Budget of a runner; see `Settings.maxResident`. */
export class RunnerResidency
  extends Context.Service<RunnerResidency, Residency>()("windhover/actors/Actors/RunnerResidency") {}
