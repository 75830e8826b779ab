import { Clock, Context, Effect, Layer, Option, Redacted } from "effect"
import type { HttpServerRequest } from "effect/http"
import { createHmac, randomBytes } from "node:crypto"
import { isIPv6 } from "node:net"
import type { Caller, Right } from "#domain/Account.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import type { StoreError } from "#domain/ports/StoreError.ts"
import { Forbidden, type Refusal, refuse, Throttled, Unauthenticated, Unavailable } from "#domain/Refusal.ts"
import { type Allowance, Allowances } from "./Allowances.ts"
import { Declined } from "./Declined.ts"
import type { Parameters } from "./Parameters.ts"

/** Requests of one token or password; none unless the operator wants it. */
export const RequestAllowance = Context.Reference<Allowance | undefined>("windhover/http/RequestAllowance", {
  defaultValue: () => undefined
})

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
  ) => Effect.Effect<Caller, Refusal | Declined>
}>()("windhover/http/Authentication") {
  static readonly layer = Layer.effect(
    Authentication,
    Effect.gen(function*() {
      const accounts = yield* AccountStore
      const allowance = yield* RequestAllowance
      const guesses = new Allowances(failures, { maxKeys, maxDebt })
      const requests = allowance === undefined ? undefined : new Allowances(allowance, { maxKeys, maxDebt: 0 })
      const proven = makeProven()

      const authenticate = Effect.fn("Authentication.authenticate")(function*(
        request: HttpServerRequest.HttpServerRequest,
        parameters: Parameters
      ) {
        const { login, secret } = yield* credentialsOf(request, parameters)
        const address = addressOf(request)
        const now = yield* Clock.currentTimeMillis
        const key = proven.keyOf({ login, secret })
        const wait = guesses.wait(address, now)
        if (wait > 0 && !proven.has(key)) return yield* tooManyFailures(wait)
        const caller = yield* Effect.mapError(accounts.authenticate(login, secret), storeFailed)
        if (Option.isNone(caller)) {
          guesses.use(address, now)
          proven.remove(key)
          return yield* unauthenticated("The login or the token is not right. Send login:token, or login:password.")
        }
        proven.add(key)
        const { credential } = caller.value
        if (requests !== undefined) {
          const wait = requests.wait(credential, now)
          if (wait > 0) return yield* tooManyRequests(wait)
          requests.use(credential, now)
        }
        return caller.value
      })

      return Authentication.of({ authenticate })
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
    const basic = /^basic +(.*)$/i.exec(header)?.[1]
    if (basic === undefined) {
      return yield* unauthenticated("The Authorization header has to be \"Basic\", with base64 of login:token.")
    }
    return yield* decode(basic, "The Authorization header")
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

/** Never a false 401: nobody throws away a token because the database was away. */
const storeFailed = (error: StoreError): Refusal | Declined =>
  error.reason === "unavailable"
    ? refuse(
      new Unavailable({ message: "Logins cannot be checked at the moment; try again in some seconds.", retryAfter: 5 })
    )
    : new Declined({
      status: 500,
      message: "The login could not be checked: something is wrong inside Windhover, see its log."
    })

/** One network of IPv6 is one guesser: a host has 2^64 addresses to guess from. */
const addressOf = (request: HttpServerRequest.HttpServerRequest): string => {
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

const maxProven = 10_000

/** Credentials that have been right, under a keyed hash: the memory holds no secret. */
const makeProven = () => {
  const processKey = randomBytes(32)
  const keys = new Set<string>()
  return {
    keyOf: ({ login, secret }: Credentials) =>
      createHmac("sha256", processKey).update(login).update("\0").update(Redacted.value(secret)).digest("base64"),
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
