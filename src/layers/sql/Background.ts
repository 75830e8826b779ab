import { Effect, type Schedule } from "effect"
import { type StoreError, warnOfStoreError } from "#domain/ports/StoreError.ts"

/** Repeats a step until the scope closes. A failed step is logged with the text of `warning`, and runs again on schedule. */
export const repeatInBackground = <A>(
  step: Effect.Effect<unknown, StoreError>,
  schedule: Schedule.Schedule<A>,
  warning: string
) =>
  step.pipe(
    Effect.catchTag("StoreError", warnOfStoreError(warning)),
    Effect.repeat(schedule),
    Effect.forkScoped
  )
