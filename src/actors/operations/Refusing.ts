import { Effect } from "effect"
import { isUnavailable, type StoreError } from "#domain/ports/StoreError.ts"
import { type Refusal, refuse, Unavailable } from "#domain/Refusal.ts"

/** A store that is away refuses the caller for a moment; a defect is ours. */
export const refuseStoreErrors = <A, R>(effect: Effect.Effect<A, StoreError, R>): Effect.Effect<A, Refusal, R> =>
  Effect.catchTag(effect, "StoreError", (error) =>
    isUnavailable(error)
      ? Effect.fail(
        refuse(
          new Unavailable({
            message: "The database cannot do this for the moment. Please try again.",
            retryAfter: 5
          })
        )
      )
      : Effect.die(error))
