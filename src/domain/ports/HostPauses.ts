import { Context, type Effect } from "effect"
import type { StoreError } from "./StoreError.ts"

/** A host of a partition asked to be left alone. Times are epoch ms. */
export interface HostPause {
  readonly host: string
  readonly since: number
  readonly until: number
}

/** Which hosts are left alone, for the next owner of a partition: it has heard nothing of it. What is over is forgotten. */
export class HostPauses extends Context.Service<HostPauses, {
  /** A pause that goes on keeps its beginning, and the later end. */
  readonly save: (partition: number, pause: HostPause) => Effect.Effect<void, StoreError>
  readonly ofPartition: (partition: number) => Effect.Effect<ReadonlyArray<HostPause>, StoreError>
}>()("windhover/domain/ports/HostPauses") {}
