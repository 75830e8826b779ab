import { Context, type Effect, type Stream } from "effect"
import type { Caller } from "#domain/Account.ts"
import type { Refusal } from "#domain/Refusal.ts"

export interface ExportRequest {
  readonly caller: Caller
  readonly format: "opml" | "ndjson"
  /** Secrets and headers of subscriptions, and passwords of URLs; JSON lines only. */
  readonly hasSecrets: boolean
  /** The stored entries of the subscribed feeds; JSON lines only. */
  readonly hasEntries: boolean
}

/** Everything that belongs to an account, for `Import` and for other readers. */
export class Export extends Context.Service<Export, {
  /** The text of the export in pieces. A failure cuts the text, so that its end tells whether the export is complete. */
  readonly start: (request: ExportRequest) => Effect.Effect<Stream.Stream<string, Refusal>>
}>()("windhover/actors/operations/Export") {}
