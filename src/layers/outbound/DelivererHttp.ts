import { Effect, Layer } from "effect"
import { Deliverer, DeliveryError, type DeliveryResponse, type Parcel } from "#domain/ports/Deliverer.ts"
import type { Call } from "./HttpExchange.ts"
import { CallbackRequest, excerptOf } from "./CallbackRequest.ts"
import { Network } from "./Network.ts"
import * as NetworkLayer from "./Network.ts"
import { type NetworkError, Unsent } from "./NetworkError.ts"
import { authorizationOf, httpUrl } from "./Redirects.ts"
import { signatures } from "./Signing.ts"

/** Milliseconds for one delivery, from its turn at the callback's origin on. */
const defaultTimeout = 10_000

/** Bytes of the answer's body that are read (more: the connection is closed), and characters that the log keeps. */
const answerBytes = 16 * 1024
const excerptLength = 500

/** What a parcel's own headers may not name: it says how the message is framed, routed or trusted. */
const reserved: ReadonlySet<string> = new Set([
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
  /** Milliseconds. */
  readonly timeout?: number
  /** Deliveries under way at one origin; others to it wait, and only those. */
  readonly perOrigin?: number
}

/** Posts notifications over undici's `dispatch`. Every answer is an answer: a redirect is just a status. */
export const layerNoDepsWith = (options: DelivererOptions) =>
  Layer.effect(
    Deliverer,
    Effect.gen(function*() {
      const { deadlines, origins: open, userAgent } = yield* Network
      const origins = yield* open({
        connectionsPerOrigin: options.perOrigin ?? 32,
        maxIdleOrigins: 1_000,
        keepAlive: 4_000
      })
      const timeout = options.timeout ?? defaultTimeout
      return Deliverer.of({
        post: (parcel, mayLeave) =>
          Effect.callback<DeliveryResponse, DeliveryError>((resume) => {
            const url = httpUrl(parcel.callback)
            if (url === undefined) {
              return resume(
                Effect.fail(
                  new DeliveryError({
                    reason: { _tag: "Protocol", message: "the callback is not an http or https URL" }
                  })
                )
              )
            }
            const call: Call = {
              url,
              method: "POST",
              headers: headersOf(parcel, url, userAgent),
              body: parcel.body,
              ...(mayLeave === undefined ? {} : { mayLeave })
            }
            const inquiry = new CallbackRequest({ origins, deadlines, timeout, answerBytes }, call, {
              answered: ({ body, latency, status }) =>
                resume(Effect.succeed({ status, latency, excerpt: excerptOf(body, excerptLength) })),
              failed: (failure) => resume(Effect.fail(errorOf(failure)))
            })
            inquiry.start()
            return Effect.sync(() => inquiry.stop())
          })
      })
    })
  )

export const layerNoDeps = layerNoDepsWith({})

export const layer = layerNoDeps.pipe(Layer.provide(NetworkLayer.layer))

const errorOf = (failure: NetworkError): DeliveryError => {
  const { kind, message } = failure
  return new DeliveryError({ reason: { _tag: failure instanceof Unsent ? "Withheld" : kind, message } })
}

const headersOf = (parcel: Parcel, url: URL, userAgent: string): Array<string> => {
  const headers = ["user-agent", userAgent, "content-type", fieldValue(parcel.contentType)]
  for (const [name, value] of parcel.headers) {
    if (!reserved.has(name.toLowerCase())) headers.push(name, fieldValue(value))
  }
  const authorization = authorizationOf(url)
  if (authorization !== undefined) headers.push("authorization", authorization)
  if (parcel.secret !== undefined) headers.push(...signatures(parcel.body, parcel.secret, parcel.signature).flat())
  return headers
}

/**
 * A text as the value of a header field: no line breaks or other control characters, UTF-8 bytes as the Latin-1 that undici writes.
 *
 * A topic is echoed as its subscriber wrote it, and may hold both.
 */
const fieldValue = (text: string): string => {
  const line = text.replace(/[\0-\x1f\x7f]+/g, "")
  return /^[\x20-\x7e]*$/.test(line) ? line : Buffer.from(line, "utf8").toString("latin1")
}
