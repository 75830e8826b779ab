import { Context, type Effect } from "effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { Caller } from "#domain/Account.ts"
import type { Refusal } from "#domain/Refusal.ts"
import type { Session } from "#domain/Session.ts"

/** A session with its current caller. */
export interface OpenSession {
  readonly session: Session
  readonly caller: Caller
  /** Token of the forms of this session, and key of its notices. */
  readonly formToken: string
}

/** Signs browsers in and out. Only the pages and `/api` read these cookies; the API at `/` does not know them. */
export class Sessions extends Context.Service<Sessions, {
  /** Starts a session of the caller, and ends the one of the request. Returns the Set-Cookie header. */
  readonly signIn: (request: HttpServerRequest, caller: Caller) => Effect.Effect<string, Refusal>
  /** The session of the request with the current rights of its credential; undefined without one. */
  readonly resume: (request: HttpServerRequest) => Effect.Effect<OpenSession | undefined, Refusal>
  /** Ends the session of the request, if any. Returns the Set-Cookie header that removes the cookie. */
  readonly signOut: (request: HttpServerRequest) => Effect.Effect<string, Refusal>
}>()("windhover/http/Sessions") {}
