import { ByteSize, Clock, Effect } from "effect"
import { HttpIncomingMessage, type HttpServerRequest, type HttpServerResponse } from "effect/http"
import { Hub, type Pushed } from "#actors/Hub.ts"
import type { Refusal } from "#domain/Refusal.ts"
import type { Intent } from "#domain/Upstream.ts"
import { Allowances } from "./Allowances.ts"
import { Declined } from "./Declined.ts"
import * as Reply from "./Reply.ts"
import { isSignature } from "./Signatures.ts"

/** Where the callbacks are; what follows is unguessable, and tells the subscription. */
export const hubCallbacks = "/upstream/"

const path = /^\/upstream\/([\w-]{32})(?:\?(.*))?$/s

/** Bytes of a document, at most: more could not be stored. */
const maxDocument = 8 * 1024 * 1024

/** Documents that are read and stored at once; each may take its megabytes. */
const maxUnderWay = 32

/** Documents that are taken of one hub's subscription at once, and how fast that comes back. */
const allowance = { burst: 120, perMinute: 600 }
const maxKeys = 100_000

/**
 * What the hubs of publishers send here, for Windhover is their subscriber: whether it wants what was asked for (GET), and news (POST).
 *
 * A document whose signature is wrong or missing is answered like any other, and thrown away: nobody learns how near a guess was.
 *
 * @see https://www.w3.org/TR/websub/#hub-verifies-intent
 * @see https://www.w3.org/TR/websub/#signature-validation
 */
export const makeHubCallbacks = Effect.gen(function*() {
  const hub = yield* Hub
  const allowances = new Allowances(allowance, { maxKeys, maxDebt: 0 })
  let underWay = 0

  const verify = Effect.fnUntraced(function*(callback: string, query: string) {
    const parameters = new URLSearchParams(query)
    const intent = intentOf(parameters)
    if (intent === undefined || !(yield* hub.agree(callback, intent))) return notWanted
    return Reply.text(200, intent.mode === "denied" ? "" : parameters.get("hub.challenge") ?? "")
  })

  const receive = Effect.fnUntraced(function*(request: HttpServerRequest.HttpServerRequest, callback: string) {
    const receiver = yield* hub.receiver(callback)
    if (receiver === undefined) return gone
    const now = yield* Clock.currentTimeMillis
    const wait = allowances.wait(callback, now)
    if (wait > 0) return often(wait)
    allowances.use(callback, now)
    const document = yield* documentOf(request)
    const { "x-hub-signature": plain, "x-hub-signature-256": strong } = request.headers
    const signature = strong ?? plain
    if (signature !== undefined && isSignature(signature, document.body, receiver.secret)) {
      yield* hub.push(receiver, document)
    } else {
      yield* Effect.logDebug("a document came to the callback of a hub without its signature, and is not looked at")
    }
    return taken
  })

  const bounded = (
    receiving: Effect.Effect<HttpServerResponse.HttpServerResponse, Refusal | Declined>
  ): Effect.Effect<HttpServerResponse.HttpServerResponse, Refusal | Declined> =>
    Effect.suspend(() => {
      if (underWay >= maxUnderWay) return Effect.succeed(busy)
      underWay++
      return Effect.ensuring(receiving, Effect.sync(() => void underWay--))
    })

  const handle = (
    request: HttpServerRequest.HttpServerRequest
  ): Effect.Effect<HttpServerResponse.HttpServerResponse, Refusal | Declined> => {
    const [, callback, query = ""] = path.exec(request.url) ?? []
    if (request.method === "GET") return callback === undefined ? Effect.succeed(notWanted) : verify(callback, query)
    if (request.method !== "POST") return Effect.succeed(notHere)
    return callback === undefined ? Effect.succeed(gone) : bounded(receive(request, callback))
  }

  return (request: HttpServerRequest.HttpServerRequest): Effect.Effect<HttpServerResponse.HttpServerResponse> =>
    Effect.catch(handle(request), (error: Refusal | Declined) => Effect.succeed(Reply.failed(error)))
})

const intentOf = (parameters: URLSearchParams): Intent | undefined => {
  const mode = parameters.get("hub.mode")?.toLowerCase()
  const topic = parameters.get("hub.topic")
  if (topic === null) return undefined
  if (mode === "denied") return { mode, topic, reason: parameters.get("hub.reason") ?? "no reason given" }
  if (mode !== "subscribe" && mode !== "unsubscribe" || !parameters.has("hub.challenge")) return undefined
  const lease = parameters.get("hub.lease_seconds") ?? ""
  return { mode, topic, ...(/^\d{1,15}$/.test(lease) ? { leaseSeconds: Number(lease) } : {}) }
}

const documentOf = (request: HttpServerRequest.HttpServerRequest): Effect.Effect<Pushed, Declined> => {
  const { headers } = request
  const encoding = headers["content-encoding"]?.toLowerCase() ?? "identity"
  if (encoding !== "identity") return Effect.fail(compressed)
  if (Number(headers["content-length"] ?? 0) > maxDocument) return Effect.fail(tooLarge)
  return request.arrayBuffer.pipe(
    Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(maxDocument)),
    Effect.mapBoth({
      onSuccess: (bytes) => ({
        contentType: headers["content-type"] ?? "application/octet-stream",
        body: new Uint8Array(bytes)
      }),
      onFailure: () => tooLarge
    })
  )
}

const compressed = new Declined({
  status: 415,
  message: "Documents are taken as they are, without a Content-Encoding."
})
const tooLarge = new Declined({
  status: 413,
  message: `Documents of at most ${maxDocument} bytes are taken here.`
})

const taken = Reply.pending
const notWanted = Reply.text(404, "Nothing of that kind is subscribed to here.")
const gone = Reply.text(410, "There is no such subscription any more.")
const notHere = Reply.text(405, "Hubs ask here by GET and push by POST.", { allow: "GET, POST" })
const busy = Reply.text(503, "Too much is pushed at once. Please send it again.", { "retry-after": "5" })
const often = (wait: number) =>
  Reply.text(429, "This subscription is pushed to more often than it can be read. Please send it again.", {
    "retry-after": String(Math.ceil(wait / 1000))
  })
