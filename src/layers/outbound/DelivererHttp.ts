import { Clock, Effect, Layer } from "effect"
import { toPrintableField } from "#domain/ControlCharacters.ts"
import { Deliverer, DeliveryError, type DeliveryResponse, type Parcel } from "#domain/ports/Deliverer.ts"
import { CallbackRequest, type CallbackResponse } from "./CallbackRequest.ts"
import type { HttpRequest } from "./HttpExchange.ts"
import { Network } from "./Network.ts"
import type { NetworkErrorReason } from "./NetworkError.ts"
import { authorizationOf, parseHttpUrl } from "./Redirects.ts"
import { signatureHeaders } from "./Signatures.ts"
import { StrangerPost, type StrangerPostHandler } from "./StrangerPost.ts"

/** Time for one delivery, from the start of its exchange. */
const deliveryTimeoutMs = 10_000

/** Bytes of the response's body that are read. A longer body closes the connection. */
const maxResponseBytes = 16 * 1024

/** Bytes of the response's body in the delivery log. */
const excerptBytes = 1_024

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
  "x-hub-signature-256",
  "webhook-id",
  "webhook-timestamp",
  "webhook-signature"
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
      const { hostTurns, openPools, resolver, timers, userAgent } = yield* Network
      const clock = yield* Clock.Clock
      const pools = yield* openPools({
        maxConnectionsPerOrigin: options.maxPerOrigin ?? 256,
        maxIdlePools: 1_000,
        keepAliveMs: 4_000
      })
      const timeoutMs = options.timeoutMs ?? deliveryTimeoutMs
      const requestOptions = { pools, timers, timeoutMs, maxResponseBytes, resolver, hostTurns }
      return Deliverer.of({
        post: (parcel, isLeaseHeld) =>
          Effect.callback<DeliveryResponse, DeliveryError>((resume) => {
            const url = parseHttpUrl(parcel.callback)
            if (url === undefined) return resume(Effect.fail(invalidCallback()))
            const request: HttpRequest = {
              url,
              method: "POST",
              headers: headersOf(parcel, url, userAgent, clock.currentTimeMillisUnsafe()),
              body: parcel.body,
              ...(parcel.stopsEarly === true ? { stopsEarly: true } : {}),
              ...(isLeaseHeld === undefined ? {} : { confirmSend: () => isLeaseHeld() ? undefined : leaseLost })
            }
            const handler: StrangerPostHandler = {
              onResponse: (response, isElsewhere) => resume(Effect.succeed(answerOf(response, isElsewhere))),
              onFailure: ({ message, reason }, isElsewhere) =>
                resume(Effect.fail(
                  new DeliveryError({
                    reason: { _tag: reason._tag, message },
                    ...(isElsewhere === true ? { isElsewhere } : {})
                  })
                ))
            }
            const post = parcel.consent === undefined
              ? new CallbackRequest(requestOptions, request, handler)
              : new StrangerPost(requestOptions, request, parcel.consent, handler)
            post.start()
            return Effect.sync(() => post.abandon())
          })
      })
    })
  )

export const layer = layerWith({})

/** The beginning of a body as one line. A terminal would obey its control characters, so that they are replaced by U+FFFD. */
const printableExcerpt = (body: Buffer): string =>
  body.length === 0
    ? ""
    // streaming: the last character may be incomplete
    : toPrintableField(new TextDecoder().decode(body.subarray(0, excerptBytes), { stream: true })).trim()

const answerOf = (
  { body, latency, retryAfter, status }: CallbackResponse,
  isElsewhere: boolean | undefined
): DeliveryResponse => ({
  status,
  latency,
  excerpt: printableExcerpt(body),
  ...(retryAfter === undefined ? {} : { retryAfter }),
  ...(isElsewhere === true ? { isElsewhere } : {})
})

const leaseLost: NetworkErrorReason = { _tag: "LeaseLost", text: "withdrawn before it was sent" }

const invalidCallback = () =>
  new DeliveryError({ reason: { _tag: "Protocol", message: "the callback is not an http or https URL" } })

/** Checked names of the service's own headers, which are few and the same in each parcel. */
const reservedByName = new Map<string, boolean>()

const isReserved = (name: string): boolean => {
  let reserved = reservedByName.get(name)
  if (reserved === undefined) reservedByName.set(name, reserved = reservedHeaders.has(name.toLowerCase()))
  return reserved
}

const headersOf = (parcel: Parcel, url: URL, userAgent: string, nowMs: number): Array<string> => {
  const headers = ["user-agent", userAgent, "content-type", toFieldValue(parcel.contentType)]
  for (const [name, value] of parcel.headers) {
    if (!isReserved(name)) headers.push(name, toFieldValue(value))
  }
  let hasAuthorization = false
  for (const [name, value] of parcel.ownHeaders ?? []) {
    const lower = name.toLowerCase()
    hasAuthorization ||= lower === "authorization"
    if (lower === "authorization" || !reservedHeaders.has(lower)) headers.push(name, toFieldValue(value))
  }
  const authorization = hasAuthorization ? undefined : authorizationOf(url)
  if (authorization !== undefined) headers.push("authorization", authorization)
  headers.push(...signatureHeaders(parcel, nowMs))
  return headers
}

/**
 * Encodes a text as the value of a header field: without control characters, as UTF-8 bytes in the Latin-1 string that undici writes.
 *
 * A notification repeats the topic as its subscriber wrote it, perhaps with line breaks and non-ASCII characters.
 */
const toFieldValue = (text: string): string => {
  if (isPrintable.test(text)) return text
  const line = text.replace(/[\0-\x1f\x7f]+/g, "")
  return isPrintable.test(line) ? line : Buffer.from(line, "utf8").toString("latin1")
}

const isPrintable = /^[\x20-\x7e]*$/
