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
export class IntentNotConfirmed
  extends Schema.TaggedError<IntentNotConfirmed>()("IntentRefused", { message: Schema.String }) {}

/** A subscriber's callback is told that its subscription came to nothing. */
export interface SubscriptionDenial {
  readonly topic: string
  readonly callback: string
  readonly reason: string
}

/** Verification of intent: a GET with a challenge that the callback has to echo as its whole body. */
export class IntentVerifier extends Context.Service<IntentVerifier, {
  readonly verify: (intent: Intent) => Effect.Effect<void, IntentNotConfirmed>
  /** Once, and whatever the callback answers is right. */
  readonly deny: (denial: SubscriptionDenial) => Effect.Effect<void>
}>()("windhover/domain/ports/IntentVerifier") {}
