import { Context, type Effect } from "effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { Caller } from "#domain/Account.ts"
import type { Refusal } from "#domain/Refusal.ts"

/** Path below the base URL to which the identity provider sends browsers back. */
export const providerCallbackPath = "/dashboard/sign-in/provider/callback"

/** Signs in at the identity provider of the settings. */
export class ProviderSignIn extends Context.Service<ProviderSignIn, {
  /** The URL at the provider, and the Set-Cookie header with the checks of the answer. `next` is the page after the sign-in. */
  readonly begin: (
    request: HttpServerRequest,
    next: string
  ) => Effect.Effect<{ readonly url: string; readonly cookie: string }, Refusal>
  /** The owner of the account that the answer names. */
  readonly complete: (
    request: HttpServerRequest
  ) => Effect.Effect<{ readonly caller: Caller; readonly next: string }, Refusal>
}>()("windhover/http/ProviderSignIn") {}
