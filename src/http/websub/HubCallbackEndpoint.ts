import type { PushedDocument } from "#domain/poll/PushedDocument.ts"
import { Clock, Effect } from "effect"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"
import { Hub } from "#actors/operations/Hub.ts"
import { type Refusal, refuse, Throttled, Unavailable } from "#domain/Refusal.ts"
import { siteOf } from "#domain/Topic.ts"
import type { Intent } from "#domain/websub/HubSubscription.ts"
import { RateLimiter } from "#http/RateLimiter.ts"
import { type BodyLimits, readBytes } from "#http/BodyReader.ts"
import { addressOf } from "#http/Authentication.ts"
import { HttpRejection, malformed, tooLarge } from "#http/HttpRejection.ts"
import { PushLimits } from "./PushLimits.ts"
import * as Reply from "#http/Reply.ts"
import type { Reservation } from "#http/MemoryBudget.ts"
import { isSignature } from "#http/Signatures.ts"

/** Where the callbacks are; what follows is unguessable, and tells the subscription. */
export const hubCallbacks = "/upstream/"

const path = /^\/upstream\/([\w-]{32})(?:\?(.*))?$/s

/** Bytes of a document, at most: more could not be stored. */
const maxDocument = 8 * 1024 * 1024

/** A document that does not arrive within this, sent byte by byte, gives its place up. */
const patience = "10 seconds"

/** Callbacks that are looked up at once; each takes a query. */
const maxLookUps = 64

/** Documents that are taken of one hub's subscription at once, and how fast that comes back. */
const allowance = { burst: 120, perMinute: 600 }

/** Callbacks that are not known, by the address that asks for them: a few are left from subscriptions that have ended. */
const strangers = { burst: 300, perMinute: 300 }
const maxKeys = 100_000

type Request = HttpServerRequest.HttpServerRequest
type Answer = Effect.Effect<HttpServerResponse.HttpServerResponse, Refusal | HttpRejection>

/**
 * What the hubs of publishers send here, for Windhover is their subscriber: whether it wants what was asked for (GET), and news (POST).
 *
 * A document whose signature is wrong or missing is answered like any other, and thrown away: nobody learns how near a guess was.
 *
 * @see https://www.w3.org/TR/websub/#hub-verifies-intent
 * @see https://www.w3.org/TR/websub/#signature-validation
 */
export const makeHubCallbackEndpoint = Effect.gen(function*() {
  const hub = yield* Hub
  const allowances = new RateLimiter(allowance, { maxKeys, maxDebt: 0 })
  const guesses = new RateLimiter(strangers, { maxKeys, maxDebt: 0 })
  const places = new PushLimits()
  let lookUps = 0

  /** The store is asked for what strangers make up; what comes of it holds no place of a hub. */
  const lookUp = Effect.fnUntraced(function*<A>(request: Request, known: Effect.Effect<A | undefined, Refusal>) {
    const address = addressOf(request)
    const now = yield* Clock.currentTimeMillis
    const wait = guesses.wait(address, now)
    if (wait > 0) return yield* guessed(wait)
    const found = yield* Effect.acquireUseRelease(
      Effect.suspend(() => lookUps < maxLookUps ? Effect.sync(() => void lookUps++) : busy),
      () => known,
      () => Effect.sync(() => void lookUps--)
    )
    if (found === undefined) guesses.use(address, now)
    return found
  })

  const verify = Effect.fnUntraced(function*(request: Request, callback: string, query: string) {
    const parameters = new URLSearchParams(query)
    const intent = intentOf(parameters)
    if (intent === undefined) return notWanted
    const agreed = Effect.map(hub.confirmIntent(callback, intent), (agreed) => agreed || undefined)
    if ((yield* lookUp(request, agreed)) === undefined) return notWanted
    return Reply.text(200, intent.mode === "denied" ? "" : parameters.get("hub.challenge") ?? "")
  })

  const receive = Effect.fnUntraced(function*(request: Request, callback: string) {
    const receiver = yield* lookUp(request, hub.findReceiver(callback))
    if (receiver === undefined) return gone
    const now = yield* Clock.currentTimeMillis
    const wait = allowances.wait(callback, now)
    if (wait > 0) return yield* often(wait)
    allowances.use(callback, now)
    const take = Effect.fnUntraced(function*(place: Reservation) {
      const document = yield* documentOf(request, place)
      const { "x-hub-signature": plain, "x-hub-signature-256": strong } = request.headers
      const signature = strong ?? plain
      if (signature !== undefined && isSignature(signature, document.body, receiver.secret)) {
        yield* hub.acceptPush(receiver, document)
      } else {
        yield* Effect.logDebug("a document came to the callback of a hub without its signature, and is not looked at")
      }
      return taken
    })
    return yield* Effect.acquireUseRelease(
      Effect.suspend(() => {
        const place = places.enter(callback, siteOf(new URL(receiver.hub).hostname))
        return place === undefined ? busy : Effect.succeed(place)
      }),
      take,
      (place) => Effect.sync(place.leave)
    )
  })

  const handle = (request: Request): Answer => {
    const [, callback, query = ""] = path.exec(request.url) ?? []
    if (request.method === "GET") {
      return callback === undefined ? Effect.succeed(notWanted) : verify(request, callback, query)
    }
    if (request.method !== "POST") return Effect.succeed(notHere(request.method))
    return callback === undefined ? Effect.succeed(gone) : receive(request, callback)
  }

  return (request: Request): Effect.Effect<HttpServerResponse.HttpServerResponse> =>
    Effect.catch(handle(request), (error: Refusal | HttpRejection) => Effect.succeed(Reply.failed(error)))
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

const documentOf = (request: Request, place: Reservation): Effect.Effect<PushedDocument, Refusal | HttpRejection> => {
  const { headers } = request
  const encoding = headers["content-encoding"]?.toLowerCase() ?? "identity"
  if (encoding !== "identity") return Effect.fail(compressed)
  const contentType = headers["content-type"] ?? "application/octet-stream"
  return Effect.map(readBytes(request, place, terms), (body) => ({ contentType, body })).pipe(
    Effect.timeoutOrElse({ duration: patience, orElse: () => Effect.fail(slow) })
  )
}

const compressed = new HttpRejection({
  status: 415,
  message: "Documents are taken as they are, without a Content-Encoding."
})
const slow = new HttpRejection({
  status: 408,
  message: `The document did not arrive within ${patience}; send it again.`
})
const tooMuch = refuse(
  new Unavailable({ message: "Too much is pushed at once. Please send it again.", retryAfter: 5 })
)
const busy = Effect.fail(tooMuch)
const terms: BodyLimits = {
  max: maxDocument,
  tooLarge: tooLarge(`Documents of at most ${maxDocument} bytes are taken here.`),
  noRoom: tooMuch,
  brokenOff: malformed("The document ended early or could not be read; send it again.")
}

const taken = Reply.pending
const notWanted = Reply.text(404, "Nothing of that kind is subscribed to here.")
const gone = Reply.text(410, "There is no such subscription any more.")
const notHere = (method: string) => Reply.wrongMethod(method, "GET, POST")
const throttled = (message: string) => (wait: number) =>
  Effect.fail(refuse(new Throttled({ message, retryAfter: wait / 1000 })))
const often = throttled("This subscription is pushed to more often than it can be read. Please send it again.")
const guessed = throttled("This address asks for too many subscriptions that do not exist. Please send it again.")
