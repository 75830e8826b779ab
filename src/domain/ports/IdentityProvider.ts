import { Context, type Effect, Schema } from "effect"
import { reasonOf } from "./Reason.ts"

/** Random values of one sign-in. The browser keeps these between the request to the provider and the answer. */
export interface SignInChecks {
  readonly state: string
  readonly nonce: string
  /** Verifier of PKCE. */
  readonly verifier: string
}

/**
 * Failure of a sign-in at the provider. `message` is a sentence for the person who signs in.
 *
 * `Unreachable`: no answer, which may pass. `Refused`: the provider refused the person or the client. `Unusable`: an answer that fails a
 * check. `NoLogin`: an answer without the claim.
 */
export class IdentityProviderError extends Schema.TaggedError<IdentityProviderError>()("IdentityProviderError", {
  reason: reasonOf(["Unreachable", "Refused", "Unusable", "NoLogin"])
}) {
  override get message(): string {
    return this.reason.message
  }
}

/** Signs people in with OpenID Connect: authorization code, PKCE, state and nonce. */
export interface IdentityProvider {
  /** URL at the provider that a browser opens, and the values that its answer is checked against. */
  readonly begin: (
    callback: string
  ) => Effect.Effect<{ readonly url: string; readonly checks: SignInChecks }, IdentityProviderError>
  /** The login: the value of the claim that the settings name. `answer` is the callback with the query of the answer. */
  readonly complete: (answer: string, checks: SignInChecks) => Effect.Effect<string, IdentityProviderError>
}

/** The provider of the settings; undefined while these name none. */
export const CurrentIdentityProvider = Context.Reference<IdentityProvider | undefined>(
  "windhover/domain/ports/IdentityProvider",
  { defaultValue: () => undefined }
)
