import { Clock, Context, Effect, Layer, Option, Redacted } from "effect"
import type { HttpServerRequest } from "effect/http"
import { hash, randomBytes } from "node:crypto"
import { isIPv6 } from "node:net"
import { FifoSemaphore } from "#actors/limits/FifoSemaphore.ts"
import type { Caller, Right } from "#domain/Account.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { Settings } from "#domain/ports/Settings.ts"
import type { StoreError } from "#domain/ports/StoreError.ts"
import { Forbidden, type Refusal, refuse, Throttled, Unauthenticated, Unavailable } from "#domain/Refusal.ts"
import { quote } from "#domain/Topic.ts"
import { type Allowance, RateLimiter } from "./RateLimiter.ts"
import type { Parameters } from "./Parameters.ts"

/** Logins of one address that may fail. */
const failures: Allowance = { burst: 10, perMinute: 10 }

const maxKeys = 100_000

/** Milliseconds. */
const maxDebt = 15 * 60_000

/** Tells who is calling. */
export class Authentication extends Context.Service<Authentication, {
  /**
   * By HTTP Basic or, for clients that cannot set headers, by the parameter `authorization`: base64 of `login:token`.
   *
   * An address whose logins fail too often has to wait, before its password is even looked at. Credentials that have been
   * right are let in all the same: who shares an address with somebody who guesses is not locked out.
   */
  readonly authenticate: (
    request: HttpServerRequest.HttpServerRequest,
    parameters: Parameters
  ) => Effect.Effect<Caller, Refusal>
  /** The same by HTTP Basic for a server that asks for its own users: all come from its address, so that failures cost the login. */
  readonly authenticateFor: (request: HttpServerRequest.HttpServerRequest) => Effect.Effect<Caller, Refusal>
}>()("windhover/http/Authentication") {
  static readonly layer = Layer.effect(
    Authentication,
    Effect.gen(function*() {
      const accounts = yield* AccountStore
      const { requestsPerMinute } = yield* Settings
      const guesses = new RateLimiter(failures, { maxKeys, maxDebt })
      const requests = requestsPerMinute === undefined ? undefined : new RateLimiter(
        { burst: requestsPerMinute, perMinute: requestsPerMinute },
        { maxKeys, maxDebt: 0 }
      )
      const proven = makeProven()

      const lines = new Lines()

      const lookedAt = Effect.fnUntraced(function*({ login, secret }: Credentials, key: string, guesser: string) {
        const now = yield* Clock.currentTimeMillis
        const wait = guesses.wait(guesser, now)
        if (wait > 0 && !proven.has(key)) return yield* tooManyFailures(wait)
        const caller = yield* orRefuse(accounts.authenticate(login, secret))
        if (Option.isNone(caller)) {
          guesses.use(guesser, now)
          proven.remove(key)
          return yield* unauthenticated("The login or the token is not right. Send login:token, or login:password.")
        }
        proven.add(key)
        return caller.value
      })

      /** Who has these credentials; a wrong one is a guess of `guesser`. */
      const proved = (credentials: Credentials, guesser: string) => {
        const key = proven.keyOf(credentials)
        const looking = lookedAt(credentials, key, guesser)
        return proven.has(key) ? looking : lines.through(guesser, looking)
      }

      const authenticate = Effect.fn("Authentication.authenticate")(function*(
        request: HttpServerRequest.HttpServerRequest,
        parameters: Parameters
      ) {
        const caller = yield* proved(yield* credentialsOf(request, parameters), addressOf(request))
        if (requests !== undefined) {
          const now = yield* Clock.currentTimeMillis
          const wait = requests.wait(caller.credential, now)
          if (wait > 0) return yield* tooManyRequests(wait)
          requests.use(caller.credential, now)
        }
        return caller
      })

      const authenticateFor = Effect.fn("Authentication.authenticateFor")(function*(
        request: HttpServerRequest.HttpServerRequest
      ) {
        const credentials = yield* decodeHeader(request.headers["authorization"] ?? "")
        return yield* proved(credentials, `login:${credentials.login}`)
      })

      return Authentication.of({ authenticate, authenticateFor })
    })
  )
}

/** Fails when the credential may not do it. */
export const requireRight = (caller: Caller, right: Right): Effect.Effect<void, Refusal> =>
  caller.rights.has(right)
    ? Effect.void
    : Effect.fail(
      refuse(
        new Forbidden({
          right,
          message: `This token does not have the right "${right}"; it has ${listOf(caller.rights)}. ` +
            `Use a token that has "${right}", or make one.`
        })
      )
    )

const listOf = (rights: ReadonlySet<Right>): string =>
  rights.size === 0 ? "none" : [...rights].map((right) => `"${right}"`).join(", ")

interface Credentials {
  readonly login: string
  readonly secret: Redacted.Redacted
}

const credentialsOf = Effect.fnUntraced(function*(
  request: HttpServerRequest.HttpServerRequest,
  parameters: Parameters
) {
  const header = request.headers["authorization"]
  if (header !== undefined && header !== "") {
    return yield* decodeHeader(header)
  }
  const parameter = yield* parameters.one("authorization")
  if (parameter === undefined) {
    return yield* unauthenticated(
      "Please authenticate: with HTTP Basic, your login and a token (or your password), or with the parameter " +
        "authorization, base64 of login:token."
    )
  }
  return yield* decode(unwrapped(parameter), "The parameter authorization")
})

const decodeHeader = (header: string): Effect.Effect<Credentials, Refusal> => {
  const basic = /^basic +(.*)$/i.exec(header)?.[1]
  return basic === undefined
    ? unauthenticated(
      `The Authorization header has to be "Basic", with base64 of login:token; received ${schemeOf(header)}.`
    )
    : decode(basic, "The Authorization header")
}

/** The first word says how; a single one may be the secret itself. */
const schemeOf = (header: string): string => {
  const scheme = /^([\w-]{1,20}) /.exec(header)?.[1]
  return scheme === undefined ? "something else" : quote(scheme)
}

/**
 * Some encoders wrap long lines, so that white space does not count; but a `+` that nobody escaped arrives as a space.
 * Without it the length is no multiple of four.
 */
const unwrapped = (parameter: string): string => {
  const text = parameter.replace(/^basic +/i, "")
  const stripped = text.replaceAll(/\s/g, "")
  return stripped.length % 4 === 0 ? stripped : text.replaceAll(/[\r\n\t]/g, "").replaceAll(" ", "+")
}

const decode = (base64: string, where: string): Effect.Effect<Credentials, Refusal> => {
  const text = /^[\w+/-]+={0,2}$/.test(base64) ? Buffer.from(base64, "base64").toString() : ""
  const colon = text.indexOf(":")
  return colon < 1 || text.includes("\0")
    ? unauthenticated(`${where} is not base64 of login:token.`)
    : Effect.succeed({ login: text.slice(0, colon), secret: Redacted.make(text.slice(colon + 1)) })
}

const unauthenticated = (message: string): Effect.Effect<never, Refusal> =>
  Effect.fail(refuse(new Unauthenticated({ message })))

const tooManyFailures = (wait: number) => {
  const seconds = Math.ceil(wait / 1000)
  return refuse(
    new Throttled({
      message: `Too many logins from this address have failed; try again in ${seconds} seconds.`,
      retryAfter: seconds
    })
  )
}

const tooManyRequests = (wait: number) => {
  const seconds = Math.ceil(wait / 1000)
  return refuse(
    new Throttled({
      message: `Too many requests with this token; try again in ${seconds} seconds.`,
      retryAfter: seconds
    })
  )
}

/** Never a false 401: nobody throws away a token because the database was away. A defect is ours, and is told by the log. */
const orRefuse = <A>(effect: Effect.Effect<A, StoreError>): Effect.Effect<A, Refusal> =>
  Effect.catch(effect, (error) => error.reason._tag === "Unavailable" ? Effect.fail(loginsAway) : Effect.die(error))

const loginsAway = refuse(
  new Unavailable({ message: "Logins cannot be checked at the moment; try again in some seconds.", retryAfter: 5 })
)

/** One network of IPv6 is one guesser: a host has 2^64 addresses to guess from. */
export const addressOf = (request: HttpServerRequest.HttpServerRequest): string => {
  const address = Option.getOrElse(request.remoteAddress, () => "")
  return isIPv6(address) && !address.includes(".") ? networkOf(address) : address
}

const networkOf = (address: string): string => {
  const [head = "", tail] = address.split("::")
  const groups = head === "" ? [] : head.split(":")
  const rest = tail === undefined || tail === "" ? [] : tail.split(":")
  const zeros = Array.from({ length: 8 - groups.length - rest.length }, () => "0")
  return [...groups, ...(tail === undefined ? [] : zeros), ...rest].slice(0, 4).join(":")
}

/** Those who guess, or come for the first time, in a line each: of a thousand who guess at once the first ones have failed before the others are looked at. */
class Lines {
  readonly #lines = new Map<string, { readonly places: FifoSemaphore; users: number }>()

  through<A, E>(guesser: string, looking: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.acquireUseRelease(
      Effect.sync(() => {
        const line = this.#lines.get(guesser) ?? { places: new FifoSemaphore(failures.burst), users: 0 }
        line.users++
        this.#lines.set(guesser, line)
        return line
      }),
      ({ places }) => places.withPermit(looking),
      (line) => Effect.sync(() => --line.users === 0 && this.#lines.delete(guesser))
    )
  }
}

const maxProven = 10_000

/** Credentials that have been right, hashed with a key of this process: the memory holds no secret, and the one-shot hash costs 1 µs a request. */
const makeProven = () => {
  const processKey = randomBytes(32).toString("base64")
  const keys = new Set<string>()
  return {
    keyOf: ({ login, secret }: Credentials) =>
      hash("sha256", `${processKey}${login}\0${Redacted.value(secret)}`, "base64"),
    has: (key: string) => keys.has(key),
    remove: (key: string) => void keys.delete(key),
    add: (key: string) => {
      keys.delete(key)
      keys.add(key)
      for (const oldest of keys) {
        if (keys.size <= maxProven) break
        keys.delete(oldest)
      }
    }
  }
}
