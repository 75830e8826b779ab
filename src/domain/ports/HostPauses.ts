import { Context, type Effect } from "effect"
import type { StoreError } from "./StoreError.ts"

/** A pause that a host has asked for with `Retry-After`. Times are epoch ms. */
export interface HostPause {
  readonly host: string
  readonly since: number
  readonly until: number
}

/** Pauses of hosts, for the next owner of a partition. Past pauses are deleted. */
export class HostPauses extends Context.Service<HostPauses, {
  /** A longer pause keeps the begin of the current one, and the later end wins. */
  readonly save: (partition: number, pause: HostPause) => Effect.Effect<void, StoreError>
  readonly ofPartition: (partition: number) => Effect.Effect<ReadonlyArray<HostPause>, StoreError>
}>()("windhover/domain/ports/HostPauses") {}
