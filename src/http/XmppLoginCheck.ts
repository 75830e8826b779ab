import { Effect, Redacted } from "effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as Jid from "#domain/Jid.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { Forbidden, refuse } from "#domain/Refusal.ts"
import { Authentication, requireRight } from "./Authentication.ts"
import { isLocal } from "./ClientAddress.ts"
import { malformed, methodNotAllowed } from "./HttpRejection.ts"
import { isEqualTo } from "./SecretComparison.ts"
import * as Reply from "./Reply.ts"

/**
 * Checks a login for an XMPP server: POST with HTTP Basic, and the server's domain in `X-XMPP-Domain`.
 *
 * Responses: 204 accepts the login, 401 and 403 reject it; every other status means that Windhover cannot tell at the moment. A login
 * needs the main password, or a token with the right `xmpp`.
 */
export const makeXmppLoginCheck = Effect.gen(function*() {
  const { trustedProxies, xmppAuthSecret, xmppDomain } = yield* Settings
  const authentication = yield* Authentication
  const isSecret = xmppAuthSecret === undefined ? undefined : isEqualTo(Redacted.value(xmppAuthSecret))
  const domain = Jid.domainOf(xmppDomain)

  const isAllowed = (request: HttpServerRequest): boolean => {
    const secret = request.headers["x-internal-secret"]
    if (secret !== undefined) return isSecret?.(secret) === true
    return trustedProxies.length === 0 && isLocal(request)
  }

  const check = Effect.fnUntraced(function*(request: HttpServerRequest) {
    if (request.method !== "POST") {
      return yield* methodNotAllowed(`Logins are checked with POST; received ${request.method}.`, "POST")
    }
    if (!isAllowed(request)) return yield* notAllowed
    // a page in a local browser cannot send this header
    if (decodeDomain(request.headers["x-xmpp-domain"] ?? "") !== domain) {
      return yield* malformed(`The header X-XMPP-Domain has to name the domain of the accounts, ${xmppDomain}.`)
    }
    yield* requireRight(yield* authentication.authenticateForXmpp(request), "xmpp")
    return Reply.noContent
  }, (effect) => Reply.catchErrors(effect))

  return check
})

const notAllowed = refuse(
  new Forbidden({
    right: "xmpp",
    message: "Only an XMPP server on this machine may check logins, or one that sends WINDHOVER_XMPP_AUTH_SECRET " +
      "as X-Internal-Secret."
  })
)

/** Node reads headers as Latin-1, but a Unicode domain arrives as UTF-8. */
const decodeDomain = (header: string): string => Jid.domainOf(Buffer.from(header, "latin1").toString("utf8"))
