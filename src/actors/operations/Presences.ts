import { Context, Effect } from "effect"

/** Whether somebody is online, as far as anybody has told. */
export type Presence = "online" | "offline" | "unknown"

/**
 * Who is online. It is shown and decides nothing: what is sent to somebody who is away waits at their server.
 *
 * A channel that knows replaces the default, which knows nobody.
 */
export class Presences extends Context.Reference<{
  /** In the order of the JIDs, which are bare. */
  readonly of: (jids: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<Presence>>
}>("windhover/actors/operations/Presences", {
  defaultValue: () => ({ of: (jids) => Effect.succeed(jids.map(() => "unknown")) })
}) {}
