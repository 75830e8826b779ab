import { Effect, Layer } from "effect"
import { createHmac } from "node:crypto"
import { Deliverer, DeliveryError, type DeliveryResponse, type Parcel } from "#domain/ports/Deliverer.ts"
import type { SignatureMethod } from "#domain/Subscription.ts"
import { CallbackRequest, excerptOf } from "./CallbackRequest.ts"
import type { HttpRequest } from "./HttpExchange.ts"
import { Network } from "./Network.ts"
import { authorizationOf, parseHttpUrl } from "./Redirects.ts"

/** Time for one delivery, from the start of its exchange. */
const deliveryTimeoutMs = 10_000

/** Bytes of the response's body that are read. A longer body closes the connection. */
const maxResponseBytes = 16 * 1024

/** Characters of the response's body in the delivery log. */
const excerptLength = 500

/** Headers that a parcel may not set, because they frame, route or authenticate the message. */
const reservedHeaders: ReadonlySet<string> = new Set([
  "host",
  "content-type",
  "content-length",
  "transfer-encoding",
  "connection",
  "upgrade",
  "expect",
  "keep-alive",
  "authorization",
  "x-hub-signature",
  "x-hub-signature-256"
])

export interface DelivererOptions {
  readonly timeoutMs?: number
  /** Concurrent deliveries to one origin. Further deliveries to this origin wait. The sender has a lower limit for each host. */
  readonly maxPerOrigin?: number
}

/** Posts notifications with undici's `dispatch`. Any status is a result, also a redirect. */
export const layerWith = (options: DelivererOptions) =>
  Layer.effect(
    Deliverer,
    Effect.gen(function*() {
      const { openPools, timers, userAgent } = yield* Network
      const pools = yield* openPools({
        maxConnectionsPerOrigin: options.maxPerOrigin ?? 256,
        maxIdlePools: 1_000,
        keepAliveMs: 4_000
      })
      const requestOptions = { pools, timers, timeoutMs: options.timeoutMs ?? deliveryTimeoutMs, maxResponseBytes }
      return Deliverer.of({
        post: (parcel, confirmSend) =>
          Effect.callback<DeliveryResponse, DeliveryError>((resume) => {
            const url = parseHttpUrl(parcel.callback)
            if (url === undefined) return resume(Effect.fail(invalidCallback()))
            const request: HttpRequest = {
              url,
              method: "POST",
              headers: headersOf(parcel, url, userAgent),
              body: parcel.body,
              ...(confirmSend === undefined ? {} : { confirmSend })
            }
            const post = new CallbackRequest(requestOptions, request, {
              onResponse: ({ body, latency, retryAfter, status }) => {
                const answer = { status, latency, excerpt: excerptOf(body, excerptLength) }
                resume(Effect.succeed(retryAfter === undefined ? answer : { ...answer, retryAfter }))
              },
              onFailure: ({ message, reason }) =>
                resume(Effect.fail(new DeliveryError({ reason: { _tag: reason._tag, message } })))
            })
            post.start()
            return Effect.sync(() => post.abandon())
          })
      })
    })
  )

export const layer = layerWith({})

const invalidCallback = () =>
  new DeliveryError({ reason: { _tag: "Protocol", message: "the callback is not an http or https URL" } })

const headersOf = (parcel: Parcel, url: URL, userAgent: string): Array<string> => {
  const headers = ["user-agent", userAgent, "content-type", toFieldValue(parcel.contentType)]
  for (const [name, value] of parcel.headers) {
    if (!reservedHeaders.has(name.toLowerCase())) headers.push(name, toFieldValue(value))
  }
  const authorization = authorizationOf(url)
  if (authorization !== undefined) headers.push("authorization", authorization)
  if (parcel.secret !== undefined) {
    headers.push(...signatureHeaders(parcel.body, parcel.secret, parcel.signature).flat())
  }
  return headers
}

/**
 * Encodes a text as the value of a header field: without control characters, as UTF-8 bytes in the Latin-1 string that undici writes.
 *
 * A notification repeats the topic as its subscriber wrote it, perhaps with line breaks and non-ASCII characters.
 */
const toFieldValue = (text: string): string => {
  const line = text.replace(/[\0-\x1f\x7f]+/g, "")
  return /^[\x20-\x7e]*$/.test(line) ? line : Buffer.from(line, "utf8").toString("latin1")
}

/**
 * Headers with which a subscriber verifies a notification: the HMAC of the body under the subscription's secret.
 *
 * `X-Hub-Signature` is the header of PubSubHubbub 0.3 and of WebSub. It uses the subscriber's method. Without a choice of method it uses
 * SHA-1, and `X-Hub-Signature-256` adds SHA-256.
 */
const signatureHeaders = (
  body: Uint8Array,
  secret: string,
  method?: SignatureMethod
): ReadonlyArray<readonly [name: string, value: string]> =>
  method === undefined
    ? [["X-Hub-Signature", hmac("sha1", body, secret)], ["X-Hub-Signature-256", hmac("sha256", body, secret)]]
    : [["X-Hub-Signature", hmac(method, body, secret)]]

const hmac = (method: SignatureMethod, body: Uint8Array, secret: string): string =>
  `${method}=${createHmac(method, secret).update(body).digest("hex")}`
