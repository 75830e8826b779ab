import type { PgClient } from "@effect/sql-pg"
import { Cause, Effect } from "effect"
import { SqlError } from "effect/sql"

/** Bytes of one row, at most: the largest stored document, and what comes with it. */
export const maxMessageSize = 32 * 1024 * 1024

/**
 * What the client of both engines does otherwise than it comes.
 *
 * * `driver` is set: `@effect/sql-pg` leaves it out, and Effect's cluster storage reads it.
 * * A connection that is lost inside a transaction is a failure. As it comes it is a defect: the roll-back fails, and that is
 *   never expected to; nobody would wait and try again.
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
