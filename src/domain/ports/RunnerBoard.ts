import { Context, type Effect } from "effect"
import type { RunnerReport, SeenRunner } from "#domain/RunnerReport.ts"
import type { StoreError } from "./StoreError.ts"

/** Last reports of the runners of a cluster, one of each. */
export class RunnerBoard extends Context.Service<RunnerBoard, {
  /** Replaces the report of this name, and deletes reports older than `maxSilenceMs`. */
  readonly report: (report: RunnerReport) => Effect.Effect<void, StoreError>
  /** Deletes the report of a runner that stops in order. */
  readonly remove: (name: string) => Effect.Effect<void, StoreError>
  /** By name, at most `limit`. */
  readonly list: (limit: number) => Effect.Effect<ReadonlyArray<SeenRunner>, StoreError>
}>()("windhover/domain/ports/RunnerBoard") {}
