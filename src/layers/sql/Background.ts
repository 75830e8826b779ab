import { Effect, type Schedule } from "effect"
import type { StoreError } from "#domain/ports/StoreError.ts"

/** Repeats a step until the scope closes. A failed step is logged as a warning and runs again on schedule. */
export const repeatInBackground = <A>(
  step: Effect.Effect<unknown, StoreError>,
  schedule: Schedule.Schedule<A>,
  warning: string
) =>
  step.pipe(
    Effect.catchTag("StoreError", (error) => Effect.logWarning(`${warning}: ${error.message}`)),
    Effect.repeat(schedule),
    Effect.forkScoped
  )
