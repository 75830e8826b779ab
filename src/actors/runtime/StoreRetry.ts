import { Clock, Context, Effect, Schedule } from "effect"
import { isUnavailable, type StoreError, warnOfStoreError } from "#domain/ports/StoreError.ts"

/** Waits while the database is unavailable: 0.1 s after the first try, then 0.1, 0.2, 0.4 … s, at most 5 s, without an end. */
const outageRetries = Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("5 seconds")])

/** Minimum time between two log lines about one outage, in ms, because thousands of actors wait at once. */
const logSpacingMs = 30_000

/** The current outage of the database: the time of its last log line, shared by all actors. */
export const Outage = Context.Reference<{ loggedAt: number | undefined }>(
  "windhover/actors/runtime/StoreRetry/Outage",
  { defaultValue: () => ({ loggedAt: undefined }) }
)

/**
 * Retries a statement while the store is unavailable, and logs the outage. Any other failure becomes a defect and crashes the actor.
 *
 * The first try has no retry around it, because nearly all statements succeed.
 */
export const whenAvailable = <A>(effect: Effect.Effect<A, StoreError>): Effect.Effect<A> => {
  const retried = effect.pipe(
    Effect.tapError((error) => isUnavailable(error) ? logOutage(error) : Effect.void),
    Effect.retry({ schedule: outageRetries, while: isUnavailable }),
    Effect.tap(logRecovery)
  )
  return Effect.orDie(
    Effect.catchIf(
      effect,
      isUnavailable,
      (error) => logOutage(error).pipe(Effect.andThen(Effect.sleep("100 millis")), Effect.andThen(retried))
    )
  )
}

const logOutage = Effect.fnUntraced(function*(error: StoreError) {
  const outage = yield* Outage
  const now = yield* Clock.currentTimeMillis
  if (outage.loggedAt !== undefined && Math.abs(now - outage.loggedAt) < logSpacingMs) return
  outage.loggedAt = now
  yield* warnOfStoreError("The database is unavailable; work waits for it.")(error)
})

const logRecovery = Effect.gen(function*() {
  const outage = yield* Outage
  if (outage.loggedAt === undefined) return
  outage.loggedAt = undefined
  yield* Effect.logInfo("The database is available again.")
})
