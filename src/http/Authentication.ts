import { Context, Effect } from "effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { Caller, Right } from "#domain/Account.ts"
import { Forbidden, type Refusal, refuse } from "#domain/Refusal.ts"
import type { Credentials } from "./Credentials.ts"
import type { Parameters } from "./Parameters.ts"

/** Identifies the caller of a request. */
export class Authentication extends Context.Service<Authentication, {
  /**
   * Authenticates by HTTP Basic, or by the parameter `authorization` (base64 of `login:token`) for clients that cannot set headers.
   *
   * After ten failed logins an address gets one attempt per 6 s. Windhover rejects the excess before it checks a password. Credentials
   * that were correct before stay valid, so that a guesser cannot lock out clients behind the same address.
   */
  readonly authenticate: (
    request: HttpServerRequest,
    parameters: Parameters
  ) => Effect.Effect<Caller, Refusal>
  /** Authenticates the login and the secret of a form, with the limits of `authenticate`. */
  readonly authenticateLogin: (
    request: HttpServerRequest,
    credentials: Credentials
  ) => Effect.Effect<Caller, Refusal>
  /**
   * Authenticates by HTTP Basic on behalf of an XMPP server. All requests come from the server's address, so failures count against
   * the login, and against login and client address together if `X-Client-Address` tells the address.
   */
  readonly authenticateForXmpp: (request: HttpServerRequest) => Effect.Effect<Caller, Refusal>
}>()("windhover/http/Authentication") {}

/** Fails with `Forbidden` when the caller's credential lacks the right. */
export const requireRight = (caller: Caller, right: Right): Effect.Effect<void, Refusal> =>
  caller.rights.has(right)
    ? Effect.void
    : Effect.fail(
      refuse(
        new Forbidden({
          right,
          message: `This token does not have the right "${right}"; it has ${listRights(caller.rights)}. ` +
            `Use a token that has "${right}", or create one.`
        })
      )
    )

const listRights = (rights: ReadonlySet<Right>): string =>
  rights.size === 0 ? "none" : [...rights].map((right) => `"${right}"`).join(", ")
