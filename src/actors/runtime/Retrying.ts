import { Clock, Context, Effect, Schedule } from "effect"
import type { StoreError } from "#domain/ports/StoreError.ts"

/** Waits while the database is away: 0.1, then 0.1, 0.2, 0.4 … s, then every 5 s, until it is back. */
const away = Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("5 seconds")])

/** Between two log lines about the same outage, ms: thousands of actors wait at once. */
const quiet = 30_000

/** What the log was told of the database, by whichever actor. */
export const Outage = Context.Reference<{ toldAt: number | undefined }>("windhover/actors/runtime/Retrying/Outage", {
  defaultValue: () => ({ toldAt: undefined })
})

const tell = Effect.fnUntraced(function*({ message }: StoreError) {
  const outage = yield* Outage
  const now = yield* Clock.currentTimeMillis
  if (outage.toldAt !== undefined && Math.abs(now - outage.toldAt) < quiet) return
  outage.toldAt = now
  yield* Effect.logWarning(`The database does not do what it is asked, and is waited for: ${message}`)
})

const tellEnd = Effect.gen(function*() {
  const outage = yield* Outage
  if (outage.toldAt === undefined) return
  outage.toldAt = undefined
  yield* Effect.logInfo("The database does what it is asked again.")
})

/** Waits as long as the store is unavailable, says so in the log, and goes on then; a defect is a crash of the caller. */
export const whenAvailable = <A>(effect: Effect.Effect<A, StoreError>): Effect.Effect<A> => {
  const again = effect.pipe(
    Effect.tapError((error) => isAway(error) ? tell(error) : Effect.void),
    Effect.retry({ schedule: away, while: isAway }),
    Effect.tap(tellEnd)
  )
  // the first try is bare: nearly all need no other
  return Effect.orDie(
    Effect.catchIf(
      effect,
      isAway,
      (error) => tell(error).pipe(Effect.andThen(Effect.sleep("100 millis")), Effect.andThen(again))
    )
  )
}

const isAway = ({ reason }: StoreError): boolean => reason._tag === "Unavailable"
