import { Context, type Effect } from "effect"
import type { StoreError } from "./StoreError.ts"

/** Whether anything can be written. */
export class WriteProbe extends Context.Service<WriteProbe, {
  /** Writes a few pages to the disk of the database, durably, and takes them away again. */
  readonly attempt: Effect.Effect<void, StoreError>
}>()("windhover/domain/ports/WriteProbe") {}
