import { Context, type Effect, Schema } from "effect"

/** A subscriber's callback is asked whether it wants this. */
export interface Intent {
  readonly mode: "subscribe" | "unsubscribe"
  /** Byte for byte as the subscriber wrote it. */
  readonly topic: string
  readonly callback: string
  /** Seconds, or "" as the API face sends it on unsubscribe. */
  readonly leaseSeconds: number | ""
  readonly verifyToken?: string
}

/** The callback did not confirm; `message` is the sentence for the subscriber. */
export class IntentRefused extends Schema.TaggedError<IntentRefused>()("IntentRefused", { message: Schema.String }) {}

/** Verification of intent: a GET with a challenge that the callback has to echo as its whole body. */
export class IntentVerifier extends Context.Service<IntentVerifier, {
  readonly verify: (intent: Intent) => Effect.Effect<void, IntentRefused>
}>()("windhover/domain/ports/IntentVerifier") {}
