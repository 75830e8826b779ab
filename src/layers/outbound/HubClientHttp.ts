import { Effect, Layer } from "effect"
import { randomBytes } from "node:crypto"
import { HubClient, type HubRequest, HubRequestError } from "#domain/ports/HubClient.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { isOwn } from "#domain/OwnAddress.ts"
import { callbackUrl } from "#domain/websub/HubSubscription.ts"
import { type Answer, CallbackRequest, type CallbackRequestOptions, excerptOf } from "./CallbackRequest.ts"
import { Network } from "./Network.ts"
import * as NetworkLayer from "./Network.ts"
import type { NetworkError } from "./NetworkError.ts"
import { httpUrl, maxRedirects, targetOf } from "./Redirects.ts"

/** Milliseconds for one request to a hub; the oldest ones verify before they answer. */
const timeout = 20_000

/** Bytes of the answer that are read: a hub says in it what it does not like. */
const answerBytes = 4 * 1024
const excerptLength = 200

/** Redirects of a POST that repeat it: the others would make a GET of it. */
const repeating: ReadonlySet<number> = new Set([307, 308])

/**
 * Subscribes as WebSub has it, with what PubSubHubbub 0.3 needed beside it: parameters that a hub does not know it ignores.
 *
 * @see https://www.w3.org/TR/websub/#subscriber-sends-subscription-request
 */
export const layerNoDeps = Layer.effect(
  HubClient,
  Effect.gen(function*() {
    const { deadlines, origins: open, userAgent } = yield* Network
    const { baseUrl } = yield* Settings
    const origins = yield* open({ connectionsPerOrigin: 4, maxIdleOrigins: 100, keepAlive: 4_000 })
    const means: CallbackRequestOptions = { origins, deadlines, timeout, answerBytes }
    const headers = ["user-agent", userAgent, "accept", "*/*", "content-type", "application/x-www-form-urlencoded"]

    const post = (url: URL, body: Uint8Array) =>
      Effect.callback<Answer, HubRequestError>((resume) => {
        const inquiry = new CallbackRequest(means, { url, method: "POST", headers: [...headers], body }, {
          answered: (answer) => resume(Effect.succeed(answer)),
          failed: (failure) => resume(refuse(unreachable(failure)))
        })
        inquiry.start()
        return Effect.sync(() => inquiry.stop())
      })

    /** Each hop is dialled like the first: the guard looks at its address. */
    const follow = Effect.fnUntraced(function*(first: URL, body: Uint8Array) {
      let url = first
      for (let hops = 0; hops <= maxRedirects; hops++) {
        if (isOwn(url.href, baseUrl)) return yield* refuse("the hub is this service itself")
        const answer = yield* post(url, body)
        if (!repeating.has(answer.status)) return answer
        const target = targetOf(answer.location ?? "", url)
        if (target === undefined) return yield* refuse("the hub redirects to something that is no http or https URL")
        if (url.protocol === "https:" && target.protocol !== "https:") {
          return yield* refuse("the hub redirects from https to http, where the secret could be read on the way")
        }
        url = target
      }
      return yield* refuse(`the hub redirects more than ${maxRedirects} times`)
    })

    return HubClient.of({
      send: Effect.fn("HubClient.ask")(function*(question: HubRequest) {
        const url = httpUrl(question.hub)
        if (url === undefined) return yield* refuse("the hub has no http or https URL")
        const { body, status } = yield* follow(url, formOf(question, baseUrl))
        if (status >= 200 && status <= 299) return
        const said = withoutSecrets(excerptOf(body, answerBytes), question).slice(0, excerptLength).trim()
        return yield* refuse(`the hub answered ${status}${said === "" ? "" : `: ${said}`}`)
      }),
      makeCredentials: Effect.sync(() => ({
        callback: randomBytes(24).toString("base64url"),
        secret: randomBytes(32).toString("base64url")
      }))
    })
  })
)

export const layer = layerNoDeps.pipe(Layer.provide(NetworkLayer.layer))

/** `hub.verify` is for hubs of before WebSub; `hub.signature` asks those that offer a choice (Windhover does) for more than SHA-1. */
const formOf = ({ callback, leaseSeconds, mode, secret, topic }: HubRequest, baseUrl: string): Uint8Array => {
  const form = new URLSearchParams({
    "hub.mode": mode,
    "hub.topic": topic,
    "hub.callback": callbackUrl(baseUrl, callback),
    "hub.verify": "async"
  })
  if (mode === "subscribe") {
    form.set("hub.lease_seconds", String(leaseSeconds))
    form.set("hub.secret", secret)
    form.set("hub.signature", "sha256")
  }
  return new TextEncoder().encode(form.toString())
}

/** A hub may repeat what it was sent, and what it says is logged and stored. */
const withoutSecrets = (text: string, { callback, secret }: HubRequest): string =>
  text.replaceAll(callback, "(callback)").replaceAll(secret, "(secret)")

const unreachable = ({ message }: NetworkError): string => `the hub could not be asked: ${message}`

const refuse = (message: string): Effect.Effect<never, HubRequestError> => Effect.fail(new HubRequestError({ message }))
