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
 * The last time that the database refused to write: a service whose disk is full answers every question, and can do nothing.
 * `at` is epoch ms.
 */
export const LastUnwritten = Context.Reference<{ last: { readonly at: number; readonly why: Unwritten } | undefined }>(
  "windhover/domain/ports/StoreError/LastUnwritten",
  { defaultValue: () => ({ last: undefined }) }
)
