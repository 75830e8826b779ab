import { Effect, Layer, Option } from "effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import { createHmac, hash, randomBytes } from "node:crypto"
import { type Account, identitySourceOf } from "#domain/Account.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { SessionStore } from "#domain/ports/SessionStore.ts"
import { Settings } from "#domain/ports/Settings.ts"
import type { StoreError } from "#domain/ports/StoreError.ts"
import { type Refusal, refuseUnavailable } from "#domain/Refusal.ts"
import { maxAgeMs, type Session } from "#domain/Session.ts"
import { rawClientAddress } from "./ClientAddress.ts"
import { formatCookie, readCookie } from "./Cookies.ts"
import { readProxyLogin } from "./ProxyLogin.ts"
import { cookieName, protectionOf } from "./SessionCookie.ts"
import { Sessions } from "./Sessions.ts"

/** Characters of a stored User-Agent. */
const maxAgentLength = 200

export const layer = Layer.effect(
  Sessions,
  Effect.gen(function*() {
    const accounts = yield* AccountStore
    const store = yield* SessionStore
    const settings = yield* Settings
    const { baseUrl } = settings

    const find = (request: HttpServerRequest) => {
      const secret = readCookie(request.headers["cookie"], cookieName(request, baseUrl))
      return secret === undefined || !secretPattern.test(secret) ? Effect.undefined : Effect.map(
        store.use(hashOf(secret)),
        (found) => Option.isNone(found) ? undefined : { secret, session: found.value }
      )
    }

    const end = Effect.fnUntraced(function*(request: HttpServerRequest) {
      const found = yield* find(request)
      if (found !== undefined) yield* store.end(found.session.accountId, found.session.id)
    })

    const format = (request: HttpServerRequest, secret: string, maxAgeSeconds: number) =>
      formatCookie(
        cookieName(request, baseUrl),
        secret,
        maxAgeSeconds,
        protectionOf(request, baseUrl) !== "none"
      )

    return Sessions.of({
      signIn: Effect.fn("Sessions.signIn")(function*(request, { account, credential }) {
        yield* end(request)
        const secret = randomBytes(secretBytes).toString("base64url")
        yield* store.create(hashOf(secret), {
          accountId: account.id,
          credential,
          address: rawClientAddress(request),
          agent: (request.headers["user-agent"] ?? "").slice(0, maxAgentLength)
        })
        return format(request, secret, maxAgeMs / 1000)
      }, refuseWhileUnavailable),
      resume: Effect.fn("Sessions.resume")(function*(request) {
        const found = yield* find(request)
        if (found === undefined) return undefined
        const { secret, session } = found
        const { accountId, credential } = session
        const account = yield* accounts.load(accountId)
        const rights = (yield* accounts.rightsOf([credential])).get(credential)
        if (Option.isNone(account) || rights === undefined) return undefined
        if (!isStillSignedIn(request, settings, session, account.value)) return undefined
        return {
          session,
          caller: { account: account.value, rights, credential },
          formToken: createHmac("sha256", secret).update("form").digest("base64url")
        }
      }, refuseWhileUnavailable),
      signOut: Effect.fn("Sessions.signOut")(function*(request) {
        yield* end(request)
        return format(request, "", 0)
      }, refuseWhileUnavailable)
    })
  })
)

/**
 * False for a session of a way to sign in that is off now, and for one of a proxy that does not name its login in this request: a sign-out
 * at the proxy counts at once.
 */
const isStillSignedIn = (
  request: HttpServerRequest,
  settings: Settings["Service"],
  session: Session,
  { login }: Account
): boolean => {
  switch (identitySourceOf(session)) {
    case "proxy":
      return readProxyLogin(request, settings) === login
    case "provider":
      return settings.oidcIssuer !== undefined
    case undefined:
      return true
  }
}

const secretBytes = 32
const secretPattern = /^[\w-]{43}$/

/** A secret is random, so that its hash needs neither salt nor work factor. */
const hashOf = (secret: string): Buffer => hash("sha256", secret, "buffer")

const refuseWhileUnavailable = <A>(effect: Effect.Effect<A, StoreError>): Effect.Effect<A, Refusal> =>
  Effect.catch(
    effect,
    (error) => error.reason._tag === "Unavailable" ? Effect.fail(sessionsUnavailable) : Effect.die(error)
  )

const sessionsUnavailable = refuseUnavailable("The database does not answer; try again in some seconds.", 5)
