import { Context, Effect } from "effect"

/** Totals of the process since its start. */
export interface LoadTotals {
  /** CPU time of all threads. */
  readonly cpuMs: number
  /** Time of the main thread's event loop at work, and at rest. */
  readonly activeMs: number
  readonly idleMs: number
  /** Resident memory, in bytes. */
  readonly memory: number
}

/** The process that this code runs in: its machine, its start and its load. Without a layer, a process without load. */
export const ProcessLoad = Context.Reference<{
  readonly machine: string
  /** Epoch ms. */
  readonly startedAt: number
  readonly read: Effect.Effect<LoadTotals>
}>("windhover/domain/ports/ProcessLoad", {
  defaultValue: () => ({
    machine: "localhost",
    startedAt: 0,
    read: Effect.succeed({ cpuMs: 0, activeMs: 0, idleMs: 0, memory: 0 })
  })
})
