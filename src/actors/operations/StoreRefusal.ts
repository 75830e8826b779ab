import { Effect } from "effect"
import { isUnavailable, type StoreError } from "#domain/ports/StoreError.ts"
import { badParameter, type Refusal, refuse, refuseUnavailable, Unavailable } from "#domain/Refusal.ts"

/** Reason for callers while the database is unavailable; a retry makes sense after 5 s. */
export const databaseUnavailable = new Unavailable({
  message: "The database cannot do this for the moment. Please try again.",
  retryAfter: 5
})

const tooMuchContent = refuseUnavailable(
  "Too many large responses are under way. Please try again, or ask for fewer entries (count).",
  5
)

/** Refuses the caller while the store is unavailable, or the memory is full. A defect of the store stays a defect. */
export const refuseStoreErrors = <A, R>(effect: Effect.Effect<A, StoreError, R>): Effect.Effect<A, Refusal, R> =>
  Effect.catchTag(
    effect,
    "StoreError",
    (error) =>
      error.reason._tag === "NoRoom"
        ? Effect.fail(tooMuchContent)
        : error.reason._tag === "TooMany"
        ? Effect.fail(badParameter("hub.topic", error.message))
        : isUnavailable(error)
        ? Effect.fail(refuse(databaseUnavailable))
        : Effect.die(error)
  )
