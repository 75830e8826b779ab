import { countOf } from "#domain/Count.ts"
import { Clock, Effect, Layer, Option, Redacted } from "effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import { hash, randomBytes } from "node:crypto"
import { isIP } from "node:net"
import { FifoSemaphore } from "#actors/limits/FifoSemaphore.ts"
import type { Caller } from "#domain/Account.ts"
import { BoundedMap } from "#domain/collections/BoundedMap.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { Settings } from "#domain/ports/Settings.ts"
import type { StoreError } from "#domain/ports/StoreError.ts"
import { type Refusal, refuseThrottled, refuseUnavailable } from "#domain/Refusal.ts"
import { Authentication } from "./Authentication.ts"
import { clientAddress, networkOf } from "./ClientAddress.ts"
import { type Credentials, parseAuthorization, readCredentials, unauthenticated } from "./Credentials.ts"
import type { Parameters } from "./Parameters.ts"
import { type RateLimit, RateLimiter } from "#domain/limits/RateLimiter.ts"

/** Rate limit of failed logins from one address. For logins over XMPP, of one login from one address. */
const failureLimit: RateLimit = { burst: 10, perMinute: 10 }

/**
 * Rate limit of failed logins over XMPP with one login, from all addresses.
 *
 * The limit is wide, because a guesser without an address could otherwise lock out the owner of the login. XMPP servers have limits per
 * address of their own. 20 guesses a minute find no password of eight random characters.
 */
const xmppFailureLimit: RateLimit = { burst: 100, perMinute: 20 }

/** Maximum wait that failures beyond the limit add up to. */
const maxDebtMs = 15 * 60_000

/** Maximum of remembered credentials that were correct before. */
const maxProven = 10_000

/** Maximum of keys that each limiter remembers. */
const maxKeys = 100_000

export const layer = Layer.effect(
  Authentication,
  Effect.gen(function*() {
    const accounts = yield* AccountStore
    const { requestsPerMinute } = yield* Settings
    const verify = makeVerifier(accounts)
    const byAddress = new RateLimiter(failureLimit, { maxKeys, maxDebtMs })
    const byXmppLogin = new RateLimiter(xmppFailureLimit, { maxKeys, maxDebtMs })
    const limitRequests = makeRequestLimiter(requestsPerMinute)

    const authenticateLogin = (request: HttpServerRequest, credentials: Credentials) => {
      const caller = verify(credentials, [[byAddress, clientAddress(request)]])
      return limitRequests === undefined ? caller : Effect.tap(caller, limitRequests)
    }

    const authenticate = (request: HttpServerRequest, parameters: Parameters) =>
      Effect.flatMap(
        readCredentials(request, parameters),
        (credentials) => authenticateLogin(request, credentials)
      )

    const authenticateForXmpp = Effect.fn("Authentication.authenticateForXmpp")(function*(
      request: HttpServerRequest
    ) {
      const credentials = yield* parseAuthorization(request.headers["authorization"] ?? "")
      const login = `login:${credentials.login}`
      const address = toldAddress(request.headers[xmppClientHeader])
      return yield* verify(credentials, [
        [byXmppLogin, login],
        ...(address === undefined ? [] : [[byAddress, `${login}@${address}`] as const])
      ])
    })

    return Authentication.of({ authenticate, authenticateLogin, authenticateForXmpp })
  })
)

/** Header with the address of the XMPP client, as the module for Prosody sends it. */
const xmppClientHeader = "x-client-address"

/** The address of an XMPP client as a key for limits; undefined without a readable one. */
const toldAddress = (header: string | undefined): string | undefined =>
  header !== undefined && isIP(header) !== 0 ? networkOf(header) : undefined

/** A limiter of failures with its key: an address, a login, or both. */
type FailureCount = readonly [limiter: RateLimiter, key: string]

/** Returns a function that finds the caller of credentials. A failure counts in all of `counts`. */
const makeVerifier = (accounts: AccountStore["Service"]) => {
  /** Credentials that were correct before, as hashes with a key of this process: a memory dump holds no secret. */
  const proven = new BoundedMap<string, true>(maxProven)
  const processKey = randomBytes(32).toString("base64")
  const queues = new LoginQueues()

  const lookUp = Effect.fnUntraced(function*(
    { login, secret }: Credentials,
    key: string,
    counts: ReadonlyArray<FailureCount>
  ) {
    const now = yield* Clock.currentTimeMillis
    const waitMs = Math.max(...counts.map(([limiter, source]) => limiter.waitMs(source, now)))
    if (waitMs > 0 && !proven.has(key)) return yield* tooManyFailures(waitMs)
    const caller = yield* refuseWhileUnavailable(accounts.authenticate(login, secret))
    if (Option.isNone(caller)) {
      for (const [limiter, source] of counts) limiter.use(source, now)
      proven.delete(key)
      return yield* unauthenticated("The login, token or password is wrong. Send login:token or login:password.")
    }
    proven.set(key, true)
    return caller.value
  })

  return (
    credentials: Credentials,
    counts: readonly [FailureCount, ...ReadonlyArray<FailureCount>]
  ): Effect.Effect<Caller, Refusal> => {
    const { login, secret } = credentials
    const key = hash("sha256", `${processKey}${login}\0${Redacted.value(secret)}`, "base64") // takes 1 µs
    const lookup = lookUp(credentials, key, counts)
    return proven.has(key) ? lookup : queues.run(counts[0][1], lookup)
  }
}

/** Returns a function that counts a request of a credential and fails beyond the limit; undefined without a limit. */
const makeRequestLimiter = (requestsPerMinute: number | undefined) => {
  if (requestsPerMinute === undefined) return undefined
  const requests = new RateLimiter(
    { burst: requestsPerMinute, perMinute: requestsPerMinute },
    { maxKeys, maxDebtMs: 0 }
  )
  return ({ credential }: Caller): Effect.Effect<void, Refusal> =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const waitMs = requests.tryUse(credential, now)
      return waitMs > 0 ? Effect.fail(tooManyRequests(waitMs)) : Effect.void
    })
}

/**
 * A queue for each source of unproven credentials. Each source runs at most ten lookups at once, so that parallel guesses meet the
 * failure limit.
 */
class LoginQueues {
  readonly #queues = new Map<string, { readonly semaphore: FifoSemaphore; users: number }>()

  run<A, E>(source: string, lookUp: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.acquireUseRelease(
      Effect.sync(() => {
        const queue = this.#queues.get(source) ?? { semaphore: new FifoSemaphore(failureLimit.burst), users: 0 }
        queue.users++
        this.#queues.set(source, queue)
        return queue
      }),
      ({ semaphore }) => semaphore.withPermit(lookUp),
      (queue) => Effect.sync(() => --queue.users === 0 && this.#queues.delete(source))
    )
  }
}

const throttle = (sentence: string) => (waitMs: number): Refusal => {
  const seconds = Math.ceil(waitMs / 1000)
  return refuseThrottled(`${sentence}; try again in ${countOf(seconds, "second")}.`, seconds)
}

const tooManyFailures = throttle("Too many logins from this address have failed")
const tooManyRequests = throttle("Too many requests with this token")

/** An unreachable database is 503 and never 401, so that no client discards a good token. A defect ends in the log. */
const refuseWhileUnavailable = <A>(effect: Effect.Effect<A, StoreError>): Effect.Effect<A, Refusal> =>
  Effect.catch(
    effect,
    (error) => error.reason._tag === "Unavailable" ? Effect.fail(loginsUnavailable) : Effect.die(error)
  )

const loginsUnavailable = refuseUnavailable("Logins cannot be checked at the moment; try again in some seconds.", 5)
