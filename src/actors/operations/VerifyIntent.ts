import { Effect } from "effect"
import { withoutPrecedence } from "#domain/limits/AccountPrecedence.ts"
import type { Intent, IntentVerifier } from "#domain/ports/IntentVerifier.ts"
import { NotVerified, type Refusal, refuse } from "#domain/Refusal.ts"

/** Asks the callback to confirm an intent. Returns its network, and refuses the request when the callback does not confirm. */
export const verifyIntent = (
  verifier: IntentVerifier["Service"],
  intent: Intent
): Effect.Effect<string | undefined, Refusal> =>
  Effect.mapError(withoutPrecedence(verifier.verify(intent)), ({ message }) => refuse(new NotVerified({ message })))
