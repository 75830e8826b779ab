import type { PgClient } from "@effect/sql-pg"
import { Cause, Effect } from "effect"
import { SqlError } from "effect/sql"

/** Maximum bytes of a row: the largest stored document and its other columns. */
export const maxMessageSize = 32 * 1024 * 1024

/**
 * Corrections to the client of both engines.
 *
 * * Sets `driver`. Effect's cluster storage reads it, and `@effect/sql-pg` does not set it.
 * * Turns a lost connection inside a transaction into a failure. Without the patch it is a defect, because the client
 *   expects no failure of the roll-back, and callers would not retry.
 */
export const patchPgClient = (client: PgClient.PgClient, driver: "pg" | "pglite"): PgClient.PgClient => {
  const { withTransaction } = client
  return Object.assign(client, {
    driver,
    withTransaction: <R, E, A>(effect: Effect.Effect<A, E, R>) =>
      Effect.catchCause(withTransaction(effect), (cause) => Effect.failCause(defectsToFailures(cause)))
  })
}

const defectsToFailures = <E>(cause: Cause.Cause<E>): Cause.Cause<E | SqlError.SqlError> =>
  Cause.fromReasons(
    cause.reasons.map((reason): Cause.Reason<E | SqlError.SqlError> =>
      Cause.isDieReason(reason) && SqlError.isSqlError(reason.defect) ? Cause.makeFailReason(reason.defect) : reason
    )
  )
