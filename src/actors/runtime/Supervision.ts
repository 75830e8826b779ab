import { type Cause, Clock, Duration, Effect, Metric, Schedule, type Scope } from "effect"
import { actorCrashes, actorSuspensions } from "./Metrics.ts"

/**
 * Supervision of a runner: its restarts, their waits, and the ends of restarting.
 *
 *   failure                    │ restarted by                        │ waits                                    │ gives up
 *   ───────────────────────────┼─────────────────────────────────────┼──────────────────────────────────────────┼─────────────────────────────
 *   behavior of an actor       │ `restartCrashed`, without its state │ 0.25 s, doubled up to 32 s               │ after 8 restarts: suspension
 *   suspended actor            │ its alarm, or its next message      │ 5 min, or none                           │ never
 *   alarm of an actor          │ `ActorAlarms`                       │ 1 s                                      │ never
 *   statement during an outage │ `StoreRetry.whenAvailable`          │ 0.1 s, doubled up to 5 s                 │ never
 *   other failed statement     │ the restart of its actor            │ those of the actor                       │ with the actor
 *   round of a runner's loop   │ `superviseLoop`                     │ the spacing of the loop                  │ never
 *   start of a partition       │ `superviseLoop`                     │ 0.5 s                                    │ when its shard moves
 *   runner                     │ the other runners                   │ 3 to 5 s; 12 s after a vanished machine  │ without another runner
 *
 * An interruption is no failure: stopped actors and moved shards are not restarted. Each crash is logged and counted.
 */

/** Waits before the restarts of an actor: 0.25, 0.5, 1, 2, 4, 8, 16 and 32 s. A completed run resets the waits. */
export const actorRestarts = Schedule.exponential("250 millis").pipe(Schedule.upTo({ times: 8 }))

/** Time until the alarm of a suspended actor. Every actor runs again at some time. */
const suspensionTime = Duration.minutes(5)

/** A crashed actor from the view of its supervisor. */
interface Supervised<E, R> {
  /** Kind of the actor, for logs and metrics. */
  readonly name: string
  readonly id: number
  readonly behavior: Effect.Effect<number | undefined, E, R>
  readonly restarts: Schedule.Schedule<unknown, Cause.Cause<E>>
  /** Called at each crash: the next run loads the state anew. */
  readonly discardState: () => void
  /** True once the actor was stopped; its supervision ends then. */
  readonly isStopped: () => boolean
}

/** The end of a supervised run: a completed behavior with its next alarm, a suspension until a time (epoch ms), or a stopped actor. */
type RunEnd =
  | { readonly _tag: "Completed"; readonly nextAlarm: number | undefined }
  | { readonly _tag: "Suspended"; readonly until: number }
  | { readonly _tag: "Stopped" }

/** Reports a crash and runs the actor again after the waits of its schedule, until a run completes or the schedule ends. */
export const restartCrashed = <E, R>(
  actor: Supervised<E, R>,
  crash: Cause.Cause<E>
): Effect.Effect<RunEnd, never, R> => {
  let pastCrash: Cause.Cause<E> | undefined = crash
  return Effect.suspend(() => {
    if (pastCrash === undefined) return actor.behavior
    const failure = Effect.failCause(pastCrash) // the first try of `retry` is the crash that has already happened
    pastCrash = undefined
    return failure
  }).pipe(
    Effect.tapCause((cause) => actor.isStopped() ? Effect.void : reportCrash(actor, cause)),
    Effect.sandbox,
    Effect.retry(actor.restarts),
    Effect.matchCauseEffect({
      onFailure: () => actor.isStopped() ? Effect.succeed<RunEnd>({ _tag: "Stopped" }) : suspend(actor),
      onSuccess: (nextAlarm) => Effect.succeed<RunEnd>({ _tag: "Completed", nextAlarm })
    })
  )
}

const reportCrash = <E, R>(actor: Supervised<E, R>, cause: Cause.Cause<E>): Effect.Effect<void> =>
  Effect.sync(actor.discardState).pipe(
    Effect.andThen(Metric.update(Metric.withAttributes(actorCrashes, { actor: actor.name }), 1)),
    Effect.andThen(Effect.logError("An actor crashed; it restarts.", cause)),
    annotateActor(actor)
  )

const suspend = <E, R>(actor: Supervised<E, R>): Effect.Effect<RunEnd> =>
  Effect.logError("An actor crashed in all its restarts; it is suspended for 5 min.").pipe(
    annotateActor(actor),
    Effect.andThen(Metric.update(Metric.withAttributes(actorSuspensions, { actor: actor.name }), 1)),
    Effect.andThen(Clock.currentTimeMillis),
    Effect.map((now) => ({ _tag: "Suspended", until: now + Duration.toMillis(suspensionTime) }))
  )

const annotateActor = ({ id, name }: { readonly id: number; readonly name: string }) =>
  Effect.annotateLogs({ actor: name, id })

/** Runs a loop of the runner as long as the scope lives. A failed or dead round is logged, and the next one comes at its time. */
export const superviseLoop = (
  name: string,
  round: Effect.Effect<void>,
  spacing: Schedule.Schedule<unknown>
): Effect.Effect<unknown, never, Scope.Scope> =>
  round.pipe(
    Effect.catchCause((cause) =>
      Effect.logError("A round of a loop failed; the next one comes at its time.", cause).pipe(
        Effect.annotateLogs({ loop: name })
      )
    ),
    Effect.repeat(spacing),
    Effect.forkScoped
  )
