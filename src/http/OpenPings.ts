import { Context, type Effect } from "effect"
import type { Refusal } from "#domain/Refusal.ts"

/** Pings without credentials, of the open hub and of the page for publishers, with one throttle for both. */
export class OpenPings extends Context.Service<OpenPings, {
  /** `client` is the network of the client, which counts the pings. */
  readonly publish: (topics: ReadonlyArray<string>, client: string) => Effect.Effect<void, Refusal>
}>()("windhover/http/OpenPings") {}
