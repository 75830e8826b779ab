import { Context, type Effect } from "effect"
import type { SeenRunner } from "#domain/RunnerReport.ts"
import type { StoreError } from "#domain/ports/StoreError.ts"

/** A runner in a list. */
export interface ListedRunner extends SeenRunner {
  /** True for the runner that answers. */
  readonly isThis: boolean
  /** True without a sign of life for `silentAfterMs`. */
  readonly isSilent: boolean
}

/** The processes of this service. */
export class Runners extends Context.Service<Runners, {
  /** By name; this runner with its present load, the other ones as they last reported themselves. */
  readonly list: Effect.Effect<ReadonlyArray<ListedRunner>, StoreError>
}>()("windhover/actors/cluster/Runners") {}
