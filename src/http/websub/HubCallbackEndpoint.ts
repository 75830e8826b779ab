import { Clock, Effect } from "effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import { Hub } from "#actors/operations/Hub.ts"
import type { PushReceiver } from "#actors/operations/HubCallbacks.ts"
import { KeyedCounter } from "#domain/collections/KeyedCounter.ts"
import { type Refusal, refuseThrottled } from "#domain/Refusal.ts"
import { siteOf } from "#domain/Topic.ts"
import { clientAddress } from "#http/ClientAddress.ts"
import { type HttpRejection, malformed } from "#http/HttpRejection.ts"
import type { MemoryReservation } from "#domain/collections/MemoryBudget.ts"
import { DocumentMemory } from "#domain/ports/DocumentMemory.ts"
import { type RateLimit, RateLimiter } from "#domain/limits/RateLimiter.ts"
import * as Reply from "#http/Reply.ts"
import { isSignature } from "#http/Signatures.ts"
import { parseIntent, readDocument, tooManyPushes } from "./HubCallbackRequest.ts"
import { PushLimits } from "./PushLimits.ts"

type Handler = Effect.Effect<HttpServerResponse, Refusal | HttpRejection>

/** Path of the callbacks. An unguessable token follows, which identifies the subscription at the hub. */
export const hubCallbackPath = "/upstream/"

const urlPattern = /^\/upstream\/([\w-]{32})(?:\?(.*))?$/s

/** Maximum number of simultaneous look-ups of callbacks; each takes a query. */
const maxLookUps = 64

/** Rate limit of pushed documents for one subscription at a hub. */
const pushLimit: RateLimit = { burst: 120, perMinute: 600 }

/** Rate limit of requests for unknown callbacks from one address. A hub may still call a few callbacks whose subscriptions have ended. */
const unknownCallbackLimit: RateLimit = { burst: 300, perMinute: 300 }

/** Maximum of keys that each limiter remembers. */
const maxKeys = 100_000

/**
 * The callbacks that publishers' hubs call, because Windhover is their subscriber. GET verifies an intent, POST pushes a document.
 *
 * A document with a wrong signature gets the usual response and is discarded, so that a guesser learns nothing. A document without a
 * signature is refused, because its hub has forgotten the secret and would push in vain.
 *
 * @see https://www.w3.org/TR/websub/#hub-verifies-intent
 * @see https://www.w3.org/TR/websub/#signature-validation
 */
export const makeHubCallbackEndpoint = Effect.gen(function*() {
  const hub = yield* Hub
  const lookUp = makeLookUp()
  const pushRate = new RateLimiter(pushLimit, { maxKeys, maxDebtMs: 0 })
  const pushes = new PushLimits((yield* DocumentMemory).exchanges)

  const verify = Effect.fnUntraced(function*(request: HttpServerRequest, callback: string, query: string) {
    const parameters = new URLSearchParams(query)
    const intent = parseIntent(parameters)
    if (intent === undefined) return unknownSubscription
    const confirmation = Effect.map(hub.confirmIntent(callback, intent), (confirmed) => confirmed || undefined)
    if ((yield* lookUp(request, confirmation)) === undefined) return unknownSubscription
    return Reply.text(200, intent.mode === "denied" ? "" : parameters.get("hub.challenge") ?? "")
  })

  const receive = Effect.fnUntraced(function*(request: HttpServerRequest, callback: string) {
    const receiver = yield* lookUp(request, hub.findReceiver(callback))
    if (receiver === undefined) return gone
    const now = yield* Clock.currentTimeMillis
    const waitMs = pushRate.tryUse(callback, now)
    if (waitMs > 0) return yield* tooManyDocuments(waitMs)
    return yield* Effect.acquireUseRelease(
      Effect.suspend(() => {
        const room = pushes.reserve(callback, siteOf(new URL(receiver.hub).hostname))
        return room === undefined ? Effect.fail(tooManyPushes) : Effect.succeed(room)
      }),
      ({ reservation }) => pushDocument(hub, request, receiver, reservation),
      ({ release }) => Effect.sync(release)
    )
  })

  const handle = (request: HttpServerRequest): Handler => {
    const [, callback, query = ""] = urlPattern.exec(request.url) ?? []
    if (request.method === "GET") {
      return callback === undefined ? Effect.succeed(unknownSubscription) : verify(request, callback, query)
    }
    if (request.method !== "POST") return Effect.succeed(Reply.wrongMethod(request.method, "GET, POST"))
    return callback === undefined ? Effect.succeed(gone) : receive(request, callback)
  }

  return (request: HttpServerRequest): Effect.Effect<HttpServerResponse> => Reply.catchErrors(handle(request))
})

/** Returns a function that looks a callback up. Its limits keep clients that guess callbacks away from the database. */
const makeLookUp = () => {
  const unknownRate = new RateLimiter(unknownCallbackLimit, { maxKeys, maxDebtMs: 0 })
  const lookUps = new KeyedCounter({ maxTotal: maxLookUps })
  return Effect.fnUntraced(function*<A>(request: HttpServerRequest, query: Effect.Effect<A | undefined, Refusal>) {
    const address = clientAddress(request)
    const now = yield* Clock.currentTimeMillis
    const waitMs = unknownRate.waitMs(address, now)
    if (waitMs > 0) return yield* tooManyUnknown(waitMs)
    const found = yield* Effect.acquireUseRelease(
      Effect.suspend(() => lookUps.tryAdd(undefined) ? Effect.void : Effect.fail(tooManyPushes)),
      () => query,
      () => Effect.sync(() => lookUps.remove(undefined))
    )
    if (found === undefined) unknownRate.use(address, now)
    return found
  })
}

/** Reads a document and passes it to the hub service when its signature is right. */
const pushDocument = Effect.fnUntraced(function*(
  hub: Hub["Service"],
  request: HttpServerRequest,
  receiver: PushReceiver,
  reservation: MemoryReservation
) {
  const signature = request.headers["x-hub-signature-256"] ?? request.headers["x-hub-signature"] ?? ""
  if (signature === "") return yield* unsignedDocument
  const document = yield* readDocument(request, reservation)
  if (isSignature(signature, document.body, receiver.secret)) {
    yield* hub.acceptPush(receiver, document)
  } else {
    yield* Effect.logDebug("Pushed document discarded: its signature is wrong").pipe(
      Effect.annotateLogs({ hub: receiver.hub })
    )
  }
  return Reply.accepted
})

const unsignedDocument = malformed(
  "The document has no X-Hub-Signature, although this subscription has a hub.secret; sign it and send it again."
)

const unknownSubscription = Reply.text(404, "Windhover has no such subscription.")
const gone = Reply.text(410, "This subscription has ended.")

const throttle = (message: string) => (waitMs: number) => Effect.fail(refuseThrottled(message, waitMs / 1000))

const tooManyDocuments = throttle("Too many documents are pushed to this subscription. Please send it again.")
const tooManyUnknown = throttle("Too many requests of this address are for unknown subscriptions. Please try again.")
