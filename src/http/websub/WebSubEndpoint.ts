import { Effect, Schema } from "effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import { Hub } from "#actors/operations/Hub.ts"
import { anonymous } from "#domain/Account.ts"
import { ownerOf } from "#domain/limits/IpNetwork.ts"
import { DocumentMemory } from "#domain/ports/DocumentMemory.ts"
import { badParameter, type Refusal } from "#domain/Refusal.ts"
import { quote } from "#domain/Topic.ts"
import { rawClientAddress } from "#http/ClientAddress.ts"
import { needsPost, readMethod, selectMode } from "#http/HubModes.ts"
import { readPublishedTopics, readSecret, readVerification } from "#http/HubParameters.ts"
import { OpenPings } from "#http/OpenPings.ts"
import type { Parameters } from "#http/Parameters.ts"
import { retrySchema } from "#http/ParameterSchemas.ts"
import * as Reply from "#http/Reply.ts"
import { withParameters } from "#http/RequestBody.ts"
import { hubParameters, leaseSecondsSchema, maxHubSecretLength, signatureSchema } from "./WebSubParameters.ts"

/** The modes in error sentences. */
const listing = Object.keys(hubParameters).join("|")

/** An operation of the open hub. */
type Run = (parameters: Parameters, request: HttpServerRequest) => Effect.Effect<HttpServerResponse, Refusal>

const about =
  "This is an open WebSub hub (https://www.w3.org/TR/websub/). To subscribe, POST hub.mode=subscribe, hub.topic and hub.callback as a form; " +
  "to publish, POST hub.mode=publish and hub.url. No credentials are needed: the hub asks the callback.\n"

/**
 * The open hub at `/hub`: WebSub and its predecessor PubSubHubbub 0.3, without credentials.
 *
 * The hub ignores unknown parameters, as section 5.1 of WebSub demands.
 */
export const makeWebSubEndpoint = Effect.gen(function*() {
  const hub = yield* Hub
  const { exchanges } = yield* DocumentMemory
  const { publish } = yield* OpenPings
  const operations = {
    subscribe: (parameters, request) => subscribe(hub, parameters, rawClientAddress(request)),
    unsubscribe: (parameters, request) => unsubscribe(hub, parameters, rawClientAddress(request)),
    publish: (parameters, request) =>
      readPublishedTopics(parameters).pipe(
        Effect.flatMap((topics) => publish(topics, ownerOf(rawClientAddress(request)))),
        Effect.as(Reply.noContent)
      )
  } satisfies { [Mode in keyof typeof hubParameters]: Run }

  const respond = Effect.fnUntraced(function*(method: string, parameters: Parameters, request: HttpServerRequest) {
    if (method !== "POST" && !parameters.has("hub.mode")) return Reply.text(200, about)
    const { operation, word } = yield* selectMode<Run>(parameters, operations, listing)
    return method === "POST" ? yield* operation(parameters, request) : yield* needsPost(word, method)
  })

  const handle = Effect.fnUntraced(function*(request: HttpServerRequest) {
    const method = yield* readMethod(request)
    if (method === "OPTIONS") return Reply.preflight
    return yield* withParameters(exchanges, request, (parameters) => respond(method, parameters, request))
  })

  return (request: HttpServerRequest): Effect.Effect<HttpServerResponse> => Reply.catchErrors(handle(request))
})

const subscribe = Effect.fnUntraced(function*(hub: Hub["Service"], parameters: Parameters, address: string) {
  const topic = yield* parameters.one("hub.topic")
  const callback = yield* parameters.one("hub.callback")
  const secret = yield* readSecret(parameters, maxHubSecretLength)
  if (parameters.has("hub.header")) return yield* refuseOwnHeaders
  const signature = yield* parameters.choice("hub.signature", signatureSchema)
  const retry = yield* parameters.choice("hub.retry", retrySchema)
  const leaseSeconds = yield* readLease(parameters)
  const { outcome } = yield* hub.subscribe({
    caller: anonymous,
    topic: topic ?? "",
    callback: callback ?? "",
    address,
    ...secret,
    ...(signature !== undefined && { signature }),
    ...(retry !== undefined && { retry }),
    ...(leaseSeconds !== undefined && { leaseSeconds }),
    ...(yield* readVerification(parameters)),
    face: "hub",
    retrieve: false
  })
  return outcome === "pending" ? Reply.accepted : Reply.noContent
})

const unsubscribe = Effect.fnUntraced(function*(hub: Hub["Service"], parameters: Parameters, address: string) {
  const topic = yield* parameters.one("hub.topic")
  const callback = yield* parameters.one("hub.callback")
  const outcome = yield* hub.unsubscribe({
    caller: anonymous,
    topic: topic ?? "",
    callback: callback ?? "",
    address,
    ...(yield* readVerification(parameters)),
    face: "hub"
  })
  return outcome === "pending" ? Reply.accepted : Reply.noContent
})

/** Anyone may subscribe a callback here, and would choose the headers that its server receives. */
const refuseOwnHeaders = Effect.fail(
  badParameter(
    "hub.header",
    "hub.header is for subscriptions of an account; this open hub sends no headers of a subscriber's own. Leave it out."
  )
)

const readLease = (parameters: Parameters): Effect.Effect<number | undefined, Refusal> =>
  Effect.flatMap(parameters.one("hub.lease_seconds"), (text) => {
    if (text === undefined) return Effect.undefined
    const seconds = /^\d+$/.test(text.trim()) ? Number(text) : NaN
    return Schema.is(leaseSecondsSchema)(seconds)
      ? Effect.succeed(seconds)
      : Effect.fail(
        badParameter(
          "hub.lease_seconds",
          `hub.lease_seconds has to be a whole number of seconds; received ${quote(text)}. The default is ten days.`
        )
      )
  })
