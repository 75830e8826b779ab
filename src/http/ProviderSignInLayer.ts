import { Clock, Effect, Layer, Option, Schema } from "effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import { countOf } from "#domain/Count.ts"
import { type RateLimit, RateLimiter } from "#domain/limits/RateLimiter.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { CurrentIdentityProvider, type IdentityProviderError } from "#domain/ports/IdentityProvider.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { NotSubscribed, type Refusal, refuse, refuseThrottled, refuseUnavailable } from "#domain/Refusal.ts"
import { clientAddress } from "./ClientAddress.ts"
import { formatCookie, readCookie } from "./Cookies.ts"
import { unauthenticated } from "./Credentials.ts"
import { findOwner } from "./OutsideIdentity.ts"
import { providerCallbackPath, ProviderSignIn } from "./ProviderSignIn.ts"
import { cookieName, protectionOf } from "./SessionCookie.ts"

/** Rate limit of sign-ins at the provider from one address: each one costs requests of this service. */
const limit: RateLimit = { burst: 20, perMinute: 20 }

/** Time for a sign-in at the provider, in seconds. */
const maxSeconds = 600

/** Maximum of addresses that the limiter remembers. */
const maxKeys = 100_000

/** The checks of one sign-in, and the page after it, in a cookie of the browser. */
const Pending = Schema.fromJsonString(
  Schema.Struct({ state: Schema.String, nonce: Schema.String, verifier: Schema.String, next: Schema.String })
)

export const layer = Layer.effect(
  ProviderSignIn,
  Effect.gen(function*() {
    const accounts = yield* AccountStore
    const { baseUrl } = yield* Settings
    const provider = yield* CurrentIdentityProvider
    const limiter = new RateLimiter(limit, { maxKeys, maxDebtMs: 0 })
    const nameOf = (request: HttpServerRequest) => cookieName(request, baseUrl, "-sign-in")

    const count = Effect.fnUntraced(function*(request: HttpServerRequest) {
      const waitMs = limiter.tryUse(clientAddress(request), yield* Clock.currentTimeMillis)
      if (waitMs > 0) return yield* tooMany(Math.ceil(waitMs / 1000))
    })

    return ProviderSignIn.of({
      begin: Effect.fn("ProviderSignIn.begin")(function*(request, next) {
        if (provider === undefined) return yield* off
        yield* count(request)
        const { checks, url } = yield* refuseFailures(provider.begin(`${baseUrl}${providerCallbackPath}`))
        const text = yield* Effect.orDie(Schema.encodeEffect(Pending)({ ...checks, next }))
        const value = Buffer.from(text).toString("base64url")
        // A cookie that is strict would be missing in the answer, because the page of the provider leads to it.
        const cookie = formatCookie(
          nameOf(request),
          value,
          maxSeconds,
          protectionOf(request, baseUrl) !== "none",
          "Lax"
        )
        return { url, cookie }
      }),
      complete: Effect.fn("ProviderSignIn.complete")(function*(request) {
        if (provider === undefined) return yield* off
        yield* count(request)
        const cookie = readCookie(request.headers["cookie"], nameOf(request)) ?? ""
        const pending = Schema.decodeOption(Pending)(Buffer.from(cookie, "base64url").toString())
        if (Option.isNone(pending)) {
          return yield* unauthenticated(
            `This browser has begun no sign-in here within ${maxSeconds / 60} minutes, or it refuses cookies. ` +
              `Begin again at ${baseUrl}/dashboard.`
          )
        }
        const { next, ...checks } = pending.value
        const { search } = new URL(request.url, baseUrl)
        const answer = `${baseUrl}${providerCallbackPath}${search}`
        const login = yield* refuseFailures(provider.complete(answer, checks))
        return { caller: yield* findOwner(accounts, "provider", login), next }
      })
    })
  })
)

const refuseFailures = <A>(effect: Effect.Effect<A, IdentityProviderError>): Effect.Effect<A, Refusal> =>
  Effect.catch(
    effect,
    ({ message, reason }) =>
      reason._tag === "Unreachable" ? Effect.fail(refuseUnavailable(message, 10)) : unauthenticated(message)
  )

const off = Effect.fail(
  refuse(
    new NotSubscribed({ message: "OpenID Connect is off here; an operator sets WINDHOVER_OIDC_ISSUER to turn it on." })
  )
)

const tooMany = (seconds: number) =>
  refuseThrottled(
    `Too many sign-ins from this address have begun; try again in ${countOf(seconds, "second")}.`,
    seconds
  )
