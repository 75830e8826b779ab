import { Effect, Layer } from "effect"
import { randomBytes } from "node:crypto"
import {
  type Intent,
  IntentNotConfirmed,
  IntentVerifier,
  type SubscriptionDenial
} from "#domain/ports/IntentVerifier.ts"
import { networksOf } from "#domain/limits/IpNetwork.ts"
import { quote } from "#domain/Topic.ts"
import {
  CallbackRequest,
  type CallbackRequestOptions,
  type CallbackResponse,
  type CallbackResponseHandler,
  excerptOf
} from "./CallbackRequest.ts"
import { Network } from "./Network.ts"
import type { NetworkErrorReason } from "./NetworkError.ts"
import { authorizationOf, parseHttpUrl, withoutCredentials } from "./Redirects.ts"

/** Time for one verification. */
const verificationTimeoutMs = 10_000

/** Time for a callback while many unknown callbacks are asked, and for a denial, whose response is ignored. */
const briefTimeoutMs = 3_000

/** Bytes of the response that are read; a challenge has 32. */
const maxResponseBytes = 4 * 1024

export interface IntentVerifierOptions {
  readonly timeoutMs?: number
  /** Makes a fresh challenge. */
  readonly challenge?: () => string
}

/**
 * Verifies the intent of a subscriber with a GET to its callback.
 *
 * @see https://www.w3.org/TR/websub/#hub-verifies-intent
 */
export const layerWith = (options: IntentVerifierOptions) =>
  Layer.effect(
    IntentVerifier,
    Effect.gen(function*() {
      const { openPools, timers, userAgent } = yield* Network
      const pools = yield* openPools({ maxConnectionsPerOrigin: 8, maxIdlePools: 100, keepAliveMs: 4_000 })
      const requestOptions = { pools, timers, timeoutMs: options.timeoutMs ?? verificationTimeoutMs, maxResponseBytes }
      const briefOptions = { ...requestOptions, timeoutMs: Math.min(requestOptions.timeoutMs, briefTimeoutMs) }
      const makeChallenge = options.challenge ?? (() => randomBytes(16).toString("hex"))
      return IntentVerifier.of({
        verify: Effect.fn("IntentVerifier.verify")((intent: Intent) =>
          Effect.callback<string | undefined, IntentNotConfirmed>((resume) => {
            const challenge = makeChallenge()
            const url = appendParameters(intent.callback, intentParameters(intent, challenge))
            if (url === undefined) {
              return resume(
                failVerification(
                  `We could not verify your callback Error: ${quote(intent.callback)} is not an http or https URL`
                )
              )
            }
            return startGet(intent.isBrief === true ? briefOptions : requestOptions, userAgent, url, {
              onResponse: (response) => resume(judge(response, url, intent, challenge)),
              onFailure: ({ reason }) => resume(failVerification(unreachable(reason)))
            })
          })
        ),
        deny: Effect.fn("IntentVerifier.deny")((denial: SubscriptionDenial) =>
          Effect.callback<void>((resume) => {
            const done = () => resume(Effect.void)
            const url = appendParameters(denial.callback, denialParameters(denial))
            if (url === undefined) return done()
            return startGet(briefOptions, userAgent, url, { onResponse: done, onFailure: done })
          })
        )
      })
    })
  )

export const layer = layerWith({})

/** Starts a GET and returns its interruption. */
const startGet = (options: CallbackRequestOptions, userAgent: string, url: URL, handler: CallbackResponseHandler) => {
  const authorization = authorizationOf(url)
  const headers = ["user-agent", userAgent, "accept", "*/*"]
  if (authorization !== undefined) headers.push("authorization", authorization)
  const request = new CallbackRequest(options, { url, method: "GET", headers }, handler)
  request.start()
  return Effect.sync(() => request.abandon())
}

type QueryParameters = ReadonlyArray<readonly [name: string, value: string]>

const intentParameters = (intent: Intent, challenge: string): QueryParameters => [
  ["hub.mode", intent.mode],
  ["hub.topic", intent.topic],
  ["hub.challenge", challenge],
  ["hub.lease_seconds", String(intent.leaseSeconds)],
  ...(intent.verifyToken === undefined ? [] : [["hub.verify_token", intent.verifyToken] as const])
]

const denialParameters = ({ reason, topic }: SubscriptionDenial): QueryParameters => [
  ["hub.mode", "denied"],
  ["hub.topic", topic],
  ["hub.reason", reason]
]

/** Appends percent-encoded parameters to the callback's own query, which stays unchanged. */
const appendParameters = (callback: string, parameters: QueryParameters): URL | undefined => {
  const url = parseHttpUrl(callback)
  if (url === undefined) return undefined
  const appended = parameters.map(([name, value]) => `${name}=${encodeURIComponent(value.toWellFormed())}`).join("&")
  url.search = url.search === "" ? appended : `${url.search}&${appended}`
  url.hash = ""
  return url
}

/** Subscribers know the first sentences from the original service. Windhover adds the sentences after them. */
const judge = (
  { body, server, status }: CallbackResponse,
  url: URL,
  intent: Intent,
  challenge: string
): Effect.Effect<string | undefined, IntentNotConfirmed> => {
  const shown = withoutCredentials(url).href
  if (status < 200 || status > 299) {
    return failVerification(`Make sure your callback returns a 2XX status code. You returned ${status} to ${shown}`)
  }
  if (body.length < maxResponseBytes && body.toString("utf8").trim() === challenge) {
    return Effect.succeed(server === undefined ? undefined : networksOf(server)?.customer)
  }
  const callback = withoutCredentials(new URL(intent.callback)).href
  const received = body.length === 0 ? "an empty body" : quote(excerptOf(body, 60))
  return failVerification(
    `Your callback ${callback} didn't echo the challenge. Please make sure it does. The whole body has to be ${challenge}, we received ${received}.`
  )
}

const unreachable = ({ _tag, text }: NetworkErrorReason): string =>
  `We could not verify your callback Error: ${_tag === "Timeout" ? `ETIMEDOUT (${text})` : text}`

const failVerification = (message: string): Effect.Effect<never, IntentNotConfirmed> =>
  Effect.fail(new IntentNotConfirmed({ message }))
