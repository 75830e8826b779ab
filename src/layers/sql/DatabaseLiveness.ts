import { Context, Effect } from "effect"

/** Whether the server of the database is there: one that works on a long statement answers other questions meanwhile. */
export interface Heartbeat {
  /** It did not answer when it was last asked. Until it does, statements would only wait behind each other. */
  readonly isSilent: () => boolean
  /** Asks it; false when it does not answer. */
  readonly beats: Effect.Effect<boolean>
}

/** The embedded database is in this process and does one thing after the other: there is nobody else to be asked. */
export const DatabaseLiveness = Context.Reference<Heartbeat>("windhover/layers/sql/DatabaseLiveness", {
  defaultValue: () => ({ isSilent: () => false, beats: Effect.succeed(true) })
})
