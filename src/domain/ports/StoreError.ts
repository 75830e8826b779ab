import { Schema } from "effect"

/**
 * The database did not do it. `unavailable` passes (it is away, overloaded or restarting: wait and try again);
 * `defect` does not (a bug or a damaged database).
 */
export class StoreError extends Schema.TaggedError<StoreError>()("StoreError", {
  reason: Schema.Literals(["unavailable", "defect"]),
  message: Schema.String
}) {}
