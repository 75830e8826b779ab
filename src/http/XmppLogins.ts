import { Effect, Option, Redacted } from "effect"
import type { HttpServerRequest } from "effect/http"
import { hash, timingSafeEqual } from "node:crypto"
import * as Jid from "#domain/Jid.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { Forbidden, refuse } from "#domain/Refusal.ts"
import { Authentication, requireRight } from "./Authentication.ts"
import { HttpRejection } from "./HttpRejection.ts"
import * as Reply from "./Reply.ts"

/**
 * Tells an XMPP server whether a login is right: POST with HTTP Basic, and the server's domain in `X-XMPP-Domain`.
 *
 * 204: let in. 401, 403: not. Anything else: it is not known for the moment. The main password is right, and a token with the right `xmpp`.
 */
export const makeXmppLogins = Effect.gen(function*() {
  const { trustedProxies, xmppAuthSecret, xmppDomain } = yield* Settings
  const authentication = yield* Authentication
  const expected = xmppAuthSecret === undefined ? undefined : digest(Redacted.value(xmppAuthSecret))

  const mayAsk = (request: HttpServerRequest.HttpServerRequest): boolean => {
    const given = request.headers["x-internal-secret"]
    if (given !== undefined) return expected !== undefined && timingSafeEqual(digest(given), expected)
    return trustedProxies.length === 0 && isOfThisMachine(request)
  }

  return (request: HttpServerRequest.HttpServerRequest) =>
    Effect.gen(function*() {
      if (request.method !== "POST") {
        return yield* new HttpRejection({
          status: 405,
          message: `Logins are asked for with POST; received ${request.method}.`,
          allow: "POST"
        })
      }
      if (!mayAsk(request)) return yield* notYours
      // a page in a browser of this machine cannot send this header
      if (named(request.headers["x-xmpp-domain"] ?? "") !== Jid.domainOf(xmppDomain)) {
        return yield* new HttpRejection({
          status: 400,
          message: `The header X-XMPP-Domain has to name the domain of the accounts, ${xmppDomain}.`
        })
      }
      yield* requireRight(yield* authentication.authenticateFor(request), "xmpp")
      return Reply.done
    }).pipe(Effect.catch((error) => Effect.succeed(Reply.failed(error))))
})

const notYours = refuse(
  new Forbidden({
    right: "xmpp",
    message:
      "Logins are checked for XMPP servers of this machine, and for those that know WINDHOVER_XMPP_AUTH_SECRET " +
      "and send it as X-Internal-Secret."
  })
)

/** What a proxy hands on comes from this machine as well, but not from its own servers. */
const isOfThisMachine = ({ headers, remoteAddress }: HttpServerRequest.HttpServerRequest): boolean =>
  /^(127\.\d+\.\d+\.\d+|::1|::ffff:127\.\d+\.\d+\.\d+)$/.test(Option.getOrElse(remoteAddress, () => "")) &&
  proxyHeaders.every((name) => headers[name] === undefined)

/** A domain in Unicode comes as UTF-8, and is read as Latin-1 like every header. */
const named = (header: string): string => Jid.domainOf(Buffer.from(header, "latin1").toString("utf8"))

const proxyHeaders = ["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip"]

/** Of equal length, so that they can be compared in equal time. */
const digest = (text: string): Buffer => hash("sha256", text, "buffer")
