import { Context, type Effect } from "effect"
import type { StoreError } from "./StoreError.ts"

/** Checks that the database writes. */
export class WriteProbe extends Context.Service<WriteProbe, {
  /** Writes a few pages to the disk of the database durably, and deletes them. */
  readonly attempt: Effect.Effect<void, StoreError>
}>()("windhover/domain/ports/WriteProbe") {}
