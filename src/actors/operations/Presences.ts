import { Context, Effect } from "effect"

/** Presence of a JID as far as its server has told it. */
export type Presence = "online" | "offline" | "unknown"

/**
 * Presences of JIDs, for lists only: a message to an offline JID waits at its server.
 *
 * The XMPP face replaces the default, for which every JID is unknown.
 */
export class Presences extends Context.Reference<{
  /** Takes bare JIDs and keeps their order. */
  readonly of: (jids: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<Presence>>
}>("windhover/actors/operations/Presences", {
  defaultValue: () => ({ of: (jids) => Effect.succeed(jids.map(() => "unknown")) })
}) {}
