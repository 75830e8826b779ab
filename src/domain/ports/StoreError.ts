import { Context, Effect, Schema } from "effect"
import { reasonOf } from "./Reason.ts"

/**
 * Failure of a statement.
 *
 * `Unavailable` passes: the database is down, overloaded or restarting, and callers retry. `NoRoom` passes: the memory is full of large
 * content. `TooMany`: the account has its maximum of subscriptions; the message is for its owner. `Defect` stays: a bug or a damaged database.
 */
export class StoreError extends Schema.TaggedError<StoreError>()("StoreError", {
  reason: reasonOf(["Unavailable", "NoRoom", "TooMany", "Defect"])
}) {
  override get message(): string {
    return this.reason.message
  }
}

/** True while the database is down, overloaded or restarting. */
export const isUnavailable = ({ reason }: StoreError): boolean => reason._tag === "Unavailable"

/** Makes the warning of a failed statement: constant text, with the words of the database as the field `reason`. */
export const warnOfStoreError = (text: string) => ({ message }: StoreError): Effect.Effect<void> =>
  Effect.annotateLogs(Effect.logWarning(text), { reason: message })

/** Reasons of a database that reads and does not write. */
export type WriteFailureReason = "full" | "read-only"

/**
 * Cause of the last failed write since the last known success; undefined without one.
 *
 * A suspicion: a query that needed a temporary file on the server fails in the same words. `WriteProbe` confirms the cause.
 */
export const WriteFailure = Context.Reference<{ reason: WriteFailureReason | undefined }>(
  "windhover/domain/ports/StoreError/WriteFailure",
  { defaultValue: () => ({ reason: undefined }) }
)
