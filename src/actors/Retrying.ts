import { Effect, Schedule } from "effect"
import type { StoreError } from "#domain/ports/StoreError.ts"

/** Waits while the database is away: 0.1, 0.2, 0.4 … s, then every 5 s, until it is back. */
const away = Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("5 seconds")])

/** Waits as long as the store is unavailable, and goes on then; a defect is a crash of the caller. */
export const whenAvailable = <A>(effect: Effect.Effect<A, StoreError>): Effect.Effect<A> =>
  effect.pipe(
    Effect.retry({ schedule: away, while: (error) => error.reason === "unavailable" }),
    Effect.orDie
  )
