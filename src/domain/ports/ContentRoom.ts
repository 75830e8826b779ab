import { Context, Effect } from "effect"
import type { StoreError } from "./StoreError.ts"

/** Bytes of stored content that are read without a look at the memory. */
export const smallContentBytes = 1024 * 1024

/**
 * Reserves memory for more stored content than `smallContentBytes`, before the content is read. Fails with `NoRoom`.
 *
 * Each face provides the room of its request. Without one the memory has no bound.
 */
export const ContentRoom = Context.Reference<(bytes: number) => Effect.Effect<void, StoreError>>(
  "windhover/domain/ports/ContentRoom",
  { defaultValue: () => () => Effect.void }
)
