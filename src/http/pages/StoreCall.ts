import { Effect } from "effect"
import type { StoreError } from "#domain/ports/StoreError.ts"
import { type Refusal, refuseUnavailable } from "#domain/Refusal.ts"

/** A call of a store for a page. An unreachable database is a refusal; a defect ends in the log. */
export const storeCall = <A, R>(effect: Effect.Effect<A, StoreError, R>): Effect.Effect<A, Refusal, R> =>
  Effect.catch(
    effect,
    (error) => error.reason._tag === "Unavailable" ? Effect.fail(databaseUnavailable) : Effect.die(error)
  )

const databaseUnavailable = refuseUnavailable("The database does not answer; try again in some seconds.", 5)
