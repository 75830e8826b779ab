import { Context, type Effect } from "effect"
import type { Verification } from "#domain/ports/VerificationQueue.ts"
import type { Refusal } from "#domain/Refusal.ts"

/**
 * Verifies intents at callbacks, and carries out confirmed ones: all of the hub face, and the asynchronous ones of the API face.
 *
 *   request ──► VerificationQueue ──► its turn ──► callback confirms ──► subscribed (hub face: until the lease ends), or unsubscribed
 *                                            └───► callback does not ──► no change; a subscriber of the hub face gets a denial
 */
export class IntentVerification extends Context.Service<IntentVerification, {
  /** Verifies at once. Refused when the callback does not confirm. A brief one gives an unknown callback less time to respond. */
  readonly verify: (verification: Verification, isBrief?: boolean) => Effect.Effect<void, Refusal>
  /** Tells the worker of a new row in the queue. */
  readonly wake: Effect.Effect<void>
}>()("windhover/actors/operations/IntentVerification") {}
