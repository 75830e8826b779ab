import { Context, Effect } from "effect"

/** Tells whether the database server answers. A server that runs a long statement still answers other queries. */
export interface Heartbeat {
  /** True after an unanswered check, until the next answer. Meanwhile statements would only queue. */
  readonly isSilent: () => boolean
  /** Queries the server; false without an answer. */
  readonly check: Effect.Effect<boolean>
  /** True when the server gives no sign of life within 2 s. A refused connection is a sign: statements then fail at once. */
  readonly isUnresponsive: Effect.Effect<boolean>
}

/** By default the database always answers: the embedded one runs in this process, one statement after the other. */
export const DatabaseLiveness = Context.Reference<Heartbeat>("windhover/layers/sql/DatabaseLiveness", {
  defaultValue: () => ({ isSilent: () => false, check: Effect.succeed(true), isUnresponsive: Effect.succeed(false) })
})
