import type { Cause, Effect, Schedule } from "effect"

/**
 * A group of virtual actors: every id is an actor, and a passive one costs only its alarm.
 *
 *               tell, alarm                       mailbox empty
 *   passive ----------------> running (a fiber) <----------------> idle (state in memory, no fiber)
 *      ^                        |    ^             tell, alarm          |
 *      |                  crash |    | waits of `Supervision`           |
 *      |                        +----+                                  |
 *      |                        | too many crashes                      |
 *      |                        v                                       |
 *      |                     suspended (mailbox kept) -- tell, or alarm after five minutes --> running
 *      +----------------------------------------------------------------+
 *                  least recently used of the runner, beyond its budget
 *
 * One fiber at a time runs the behavior of an actor, takes its messages in order, and owns its state.
 */
export interface Actors<M> {
  /** Puts a message into the mailbox and wakes the actor. */
  readonly tell: (id: number, message: M) => Effect.Effect<void>
  /** Replaces the alarm of an actor (epoch ms). A running actor returns its next alarm itself. */
  readonly wakeAt: (id: number, at: number) => Effect.Effect<void>
  /** Replaces the alarms of many actors, index by index, without an effect for each. */
  readonly wakeAllAt: (ids: Float64Array, at: Float64Array) => Effect.Effect<void>
  /** Interrupts an actor and drops its state, mailbox and alarm. Returns when its fiber has ended. */
  readonly stop: (id: number) => Effect.Effect<void>
  /** Stops waking actors. Returns when the running ones have finished. */
  readonly drain: Effect.Effect<void>
  readonly alarmCount: number
  readonly hasAlarm: (id: number) => boolean
  /** Visits the actors whose alarms are before `time` (epoch ms): due ones that wait for a slot. */
  readonly forEachAlarmBefore: (time: number, visit: (id: number) => void) => void
  readonly counts: Effect.Effect<{ readonly running: number; readonly resident: number; readonly alarms: number }>
}

/** An actor from the view of its behavior. */
export interface Self<S, M> {
  readonly id: number
  /** Kept while the actor is in memory; undefined after passivation or a crash. The behavior then loads its state. */
  state: S | undefined
  /** True while the state holds facts that no row has. Such an actor is never passivated. */
  pinned: boolean
  /** Takes the next message. Returns undefined when the mailbox is empty, and always while the group drains. */
  readonly take: () => M | undefined
  /** True when the runner stops: the behavior finishes its work and begins no other. */
  readonly draining: () => boolean
}

export interface ActorOptions<S, M, E, R> {
  /** Kind of the actors, for logs and metrics. */
  readonly name: string
  /** The message that an alarm sends. */
  readonly alarm: M
  /** Takes messages until the mailbox is empty. Returns the next alarm (epoch ms), or undefined for none. */
  readonly behavior: (self: Self<S, M>) => Effect.Effect<number | undefined, E, R>
  /** Adds a message to the waiting ones. Actors merge messages and bound their mailbox here. */
  readonly join?: (waiting: Array<M>, message: M) => void
  /** Alarms of these actors fire only while `ActorBudget` has a free slot. */
  readonly needsSlot?: boolean
  /** Waits before the restarts of a crashed actor; `Supervision.actorRestarts` unless set. */
  readonly restarts?: Schedule.Schedule<unknown, Cause.Cause<E>>
}
