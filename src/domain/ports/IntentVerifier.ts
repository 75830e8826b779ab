import { Context, type Effect, Schema } from "effect"

/** An intent that a subscriber's callback has to confirm. */
export interface Intent {
  readonly mode: "subscribe" | "unsubscribe"
  /** Byte for byte as the subscriber wrote it. */
  readonly topic: string
  readonly callback: string
  /** Seconds, or "" for an unsubscribe of the API face. */
  readonly leaseSeconds: number | ""
  readonly verifyToken?: string
  /** The callback gets less time for its response. */
  readonly isBrief?: boolean
}

/** The callback did not confirm. `message` is a sentence for the subscriber. */
export class IntentNotConfirmed
  extends Schema.TaggedError<IntentNotConfirmed>()("IntentNotConfirmed", { message: Schema.String }) {}

/** A message to a callback that its subscription was denied. */
export interface SubscriptionDenial {
  readonly topic: string
  readonly callback: string
  readonly reason: string
}

/** Verification of intent: a GET with a challenge. The callback confirms by a body that is the challenge. */
export class IntentVerifier extends Context.Service<IntentVerifier, {
  /** Returns the network of the address that confirmed, if known. */
  readonly verify: (intent: Intent) => Effect.Effect<string | undefined, IntentNotConfirmed>
  /** Sends the denial once, and ignores the answer. */
  readonly deny: (denial: SubscriptionDenial) => Effect.Effect<void>
}>()("windhover/domain/ports/IntentVerifier") {}
