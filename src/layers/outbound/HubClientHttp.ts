import { Effect, Layer } from "effect"
import { randomBytes } from "node:crypto"
import { isOwn } from "#domain/OwnAddress.ts"
import { HubClient, type HubRequest, HubRequestError } from "#domain/ports/HubClient.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { hubCallbackUrl } from "#domain/websub/HubSubscription.ts"
import { CallbackRequest, type CallbackRequestOptions, type CallbackResponse, excerptOf } from "./CallbackRequest.ts"
import { Network } from "./Network.ts"
import { distinctLocations, maxRedirects, parseHttpUrl, redirectTarget } from "./Redirects.ts"

/** Time for one request to a hub. Old hubs verify the callback before they respond. */
const timeoutMs = 20_000

/** Bytes of the response that are read, for the hub's error message. */
const maxResponseBytes = 4 * 1024

/** Characters of the hub's error message that are logged and stored. */
const excerptLength = 200

/** Redirect statuses that repeat a POST. The other redirects turn it into a GET. */
const repeatingStatuses: ReadonlySet<number> = new Set([307, 308])

/**
 * Subscribes at publishers' hubs with the parameters of WebSub and of PubSubHubbub 0.3. A hub ignores parameters that it does not know.
 *
 * @see https://www.w3.org/TR/websub/#subscriber-sends-subscription-request
 */
export const layer = Layer.effect(
  HubClient,
  Effect.gen(function*() {
    const { openPools, timers, userAgent } = yield* Network
    const { baseUrl } = yield* Settings
    const pools = yield* openPools({ maxConnectionsPerOrigin: 4, maxIdlePools: 100, keepAliveMs: 4_000 })
    const post = postForm({ pools, timers, timeoutMs, maxResponseBytes }, userAgent)
    return HubClient.of({
      send: Effect.fn("HubClient.send")(function*(request: HubRequest) {
        const url = parseHttpUrl(request.hub)
        if (url === undefined) return yield* failRequest("the hub has no http or https URL")
        const { body, status } = yield* postFollowingRedirects(post, url, toForm(request, baseUrl), baseUrl)
        if (status >= 200 && status <= 299) return
        const text = withoutSecrets(excerptOf(body, maxResponseBytes), request).slice(0, excerptLength).trim()
        return yield* failRequest(`the hub answered ${status}${text === "" ? "" : `: ${text}`}`)
      }),
      makeCredentials: Effect.sync(() => ({
        callback: randomBytes(24).toString("base64url"),
        secret: randomBytes(32).toString("base64url")
      }))
    })
  })
)

type Post = (url: URL, body: Uint8Array) => Effect.Effect<CallbackResponse, HubRequestError>

const postForm = (options: CallbackRequestOptions, userAgent: string): Post => (url, body) =>
  Effect.callback((resume) => {
    const headers = ["user-agent", userAgent, "accept", "*/*", "content-type", "application/x-www-form-urlencoded"]
    const request = new CallbackRequest(options, { url, method: "POST", headers, body }, {
      onResponse: (response) => resume(Effect.succeed(response)),
      onFailure: ({ message }) => resume(failRequest(`the hub could not be reached: ${message}`))
    })
    request.start()
    return Effect.sync(() => request.abandon())
  })

/** The address guard judges each redirect target like the first URL. */
const postFollowingRedirects = Effect.fnUntraced(
  function*(post: Post, hub: URL, body: Uint8Array, baseUrl: string) {
    let url = hub
    for (let redirects = 0; redirects <= maxRedirects; redirects++) {
      if (isOwn(url.href, baseUrl)) return yield* failRequest("the hub is this service itself")
      const response = yield* post(url, body)
      if (!repeatingStatuses.has(response.status)) return response
      const [location = "", ...others] = distinctLocations(response.location, url)
      if (others.length > 0) return yield* failRequest("the hub redirects to two different addresses")
      const target = redirectTarget(location, url)
      if (target === undefined) {
        return yield* failRequest("the hub redirects to an address that is not an http or https URL")
      }
      if (url.protocol === "https:" && target.protocol !== "https:") {
        return yield* failRequest("the hub redirects from https to http, where the secret could be read on the way")
      }
      url = target
    }
    return yield* failRequest(`the hub redirects more than ${maxRedirects} times`)
  }
)

/** `hub.verify` serves hubs older than WebSub. `hub.signature` asks for more than SHA-1; hubs such as Windhover offer the choice. */
const toForm = ({ callback, leaseSeconds, mode, secret, topic }: HubRequest, baseUrl: string): Uint8Array => {
  const form = new URLSearchParams({
    "hub.mode": mode,
    "hub.topic": topic,
    "hub.callback": hubCallbackUrl(baseUrl, callback),
    "hub.verify": "async"
  })
  if (mode === "subscribe") {
    form.set("hub.lease_seconds", String(leaseSeconds))
    form.set("hub.secret", secret)
    form.set("hub.signature", "sha256")
  }
  return new TextEncoder().encode(form.toString())
}

/** A hub's error message is logged and stored, and it may repeat the request. */
const withoutSecrets = (text: string, { callback, secret }: HubRequest): string =>
  text.replaceAll(callback, "(callback)").replaceAll(secret, "(secret)")

const failRequest = (message: string): Effect.Effect<never, HubRequestError> =>
  Effect.fail(new HubRequestError({ message }))
