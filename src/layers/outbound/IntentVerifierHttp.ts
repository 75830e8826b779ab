import { Effect, Layer } from "effect"
import { randomBytes } from "node:crypto"
import {
  type Intent,
  IntentNotConfirmed,
  IntentVerifier,
  type SubscriptionDenial
} from "#domain/ports/IntentVerifier.ts"
import { quote } from "#domain/Topic.ts"
import { type Answer, CallbackRequest, type CallbackRequester, excerptOf } from "./CallbackRequest.ts"
import { Network } from "./Network.ts"
import * as NetworkLayer from "./Network.ts"
import type { NetworkError } from "./NetworkError.ts"
import { authorizationOf, httpUrl, withoutCredentials } from "./Redirects.ts"

/** Milliseconds for one verification. */
const defaultTimeout = 10_000

/** Bytes of the answer that are read; a challenge has 32. */
const answerBytes = 4 * 1024

/**
 * Asks a callback for its consent.
 *
 * @see https://www.w3.org/TR/websub/#hub-verifies-intent
 */
export const layerNoDepsWith = (options: { readonly timeout?: number; readonly challenge?: () => string }) =>
  Layer.effect(
    IntentVerifier,
    Effect.gen(function*() {
      const { deadlines, origins: open, userAgent } = yield* Network
      const origins = yield* open({ connectionsPerOrigin: 8, maxIdleOrigins: 100, keepAlive: 4_000 })
      const means = { origins, deadlines, timeout: options.timeout ?? defaultTimeout, answerBytes }
      const newChallenge = options.challenge ?? (() => randomBytes(16).toString("hex"))
      const get = (url: URL, inquirer: CallbackRequester) => {
        const authorization = authorizationOf(url)
        const headers = ["user-agent", userAgent, "accept", "*/*"]
        if (authorization !== undefined) headers.push("authorization", authorization)
        const inquiry = new CallbackRequest(means, { url, method: "GET", headers }, inquirer)
        inquiry.start()
        return Effect.sync(() => inquiry.stop())
      }
      return IntentVerifier.of({
        verify: Effect.fn("IntentVerifier.verify")((intent: Intent) =>
          Effect.callback<void, IntentNotConfirmed>((resume) => {
            const challenge = newChallenge()
            const url = withQuery(intent.callback, intentQuery(intent, challenge))
            if (url === undefined) {
              return resume(
                refuse(`We could not verify your callback Error: ${quote(intent.callback)} is not an http or https URL`)
              )
            }
            return get(url, {
              answered: (answer) => resume(judge(answer, url, intent, challenge)),
              failed: (failure) => resume(refuse(unreachable(failure)))
            })
          })
        ),
        deny: Effect.fn("IntentVerifier.deny")((denial: SubscriptionDenial) =>
          Effect.callback<void>((resume) => {
            const over = () => resume(Effect.void)
            const url = withQuery(denial.callback, denialQuery(denial))
            return url === undefined ? over() : get(url, { answered: over, failed: over })
          })
        )
      })
    })
  )

export const layerNoDeps = layerNoDepsWith({})

export const layer = layerNoDeps.pipe(Layer.provide(NetworkLayer.layer))

type Query = ReadonlyArray<readonly [name: string, value: string]>

const intentQuery = (intent: Intent, challenge: string): Query => [
  ["hub.mode", intent.mode],
  ["hub.topic", intent.topic],
  ["hub.challenge", challenge],
  ["hub.lease_seconds", String(intent.leaseSeconds)],
  ...(intent.verifyToken === undefined ? [] : [["hub.verify_token", intent.verifyToken] as const])
]

const denialQuery = ({ reason, topic }: SubscriptionDenial): Query => [
  ["hub.mode", "denied"],
  ["hub.topic", topic],
  ["hub.reason", reason]
]

/** The callback's own query stays in front, as it is; every value is percent-encoded. */
const withQuery = (callback: string, parameters: Query): URL | undefined => {
  const url = httpUrl(callback)
  if (url === undefined) return undefined
  const appended = parameters.map(([name, value]) => `${name}=${encodeURIComponent(value.toWellFormed())}`).join("&")
  url.search = url.search === "" ? appended : `${url.search}&${appended}`
  url.hash = ""
  return url
}

/** The sentences are those of the wire that subscribers know; what follows a full stop is ours. */
const judge = (
  { body, status }: Answer,
  url: URL,
  intent: Intent,
  challenge: string
): Effect.Effect<void, IntentNotConfirmed> => {
  const shown = withoutCredentials(url).href
  if (status < 200 || status > 299) {
    return refuse(`Make sure your callback returns a 2XX status code. You returned ${status} to ${shown}`)
  }
  if (body.length < answerBytes && body.toString("utf8").trim() === challenge) return Effect.void
  const callback = withoutCredentials(new URL(intent.callback)).href
  const received = body.length === 0 ? "an empty body" : quote(excerptOf(body, 60))
  return refuse(
    `Your callback ${callback} didn't echo the challenge. Please make sure it does. The whole body has to be ${challenge}, we received ${received}.`
  )
}

const unreachable = ({ kind, reason }: NetworkError): string =>
  `We could not verify your callback Error: ${kind === "Timeout" ? `ETIMEDOUT (${reason})` : reason}`

const refuse = (message: string): Effect.Effect<never, IntentNotConfirmed> =>
  Effect.fail(new IntentNotConfirmed({ message }))
