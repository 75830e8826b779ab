import { Context, Schema } from "effect"

/**
 * The database did not do it. `unavailable` passes (it is away, overloaded or restarting: wait and try again);
 * `defect` does not (a bug or a damaged database).
 */
export class StoreError extends Schema.TaggedError<StoreError>()("StoreError", {
  reason: Schema.Literals(["unavailable", "defect"]),
  message: Schema.String
}) {}

/** Why the database answers, and yet writes nothing. */
export type Unwritten = "full" | "read-only"

/**
 * What made a statement fail since something was last known to be written: a service whose disk is full answers every question, and can do nothing.
 * It is a suspicion: a question that needed room of its own on the server (a temporary file) is refused in the same words. `Writing` tells.
 */
export const WriteFailure = Context.Reference<{ why: Unwritten | undefined }>(
  "windhover/domain/ports/StoreError/Suspected",
  { defaultValue: () => ({ why: undefined }) }
)
