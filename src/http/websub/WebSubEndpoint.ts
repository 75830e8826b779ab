import { Effect, Schema } from "effect"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"
import { Hub } from "#actors/operations/Hub.ts"
import { anonymous } from "#domain/Account.ts"
import { badParameter, type Refusal } from "#domain/Refusal.ts"
import { quote } from "#domain/Topic.ts"
import type { HttpRejection } from "#http/HttpRejection.ts"
import { HubModes, needsPost, readMethod } from "#http/HubModes.ts"
import { readBounded, readPublishedTopics, readVerification } from "#http/HubParameters.ts"
import type { Parameters } from "#http/Parameters.ts"
import * as Reply from "#http/Reply.ts"
import { BodyMemory, withParameters } from "#http/RequestBody.ts"
import { makePingThrottle } from "./PingThrottle.ts"
import { hubParameters, leaseSecondsSchema, maxHubSecretLength, signatureSchema } from "./WebSubParameters.ts"

type Response = HttpServerResponse.HttpServerResponse

/** An operation of the open hub. */
type Run = (parameters: Parameters) => Effect.Effect<Response, Refusal>

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
  const budget = yield* BodyMemory
  const ping = yield* makePingThrottle(hub.publish)
  const operations = {
    subscribe: (parameters) => subscribe(hub, parameters),
    unsubscribe: (parameters) => unsubscribe(hub, parameters),
    publish: (parameters) => Effect.as(Effect.flatMap(readPublishedTopics(parameters), ping), Reply.noContent)
  } satisfies { [Mode in keyof typeof hubParameters]: Run }
  const modes = new HubModes<Run>(operations, Object.keys(hubParameters).join("|"))

  const respond = Effect.fnUntraced(function*(method: string, parameters: Parameters) {
    if (method !== "POST" && !parameters.has("hub.mode")) return Reply.text(200, about)
    const { given, operation } = yield* modes.select(parameters)
    return method === "POST" ? yield* operation(parameters) : yield* needsPost(given, method)
  })

  const handle = Effect.fn("WebSubEndpoint.handle")(function*(request: HttpServerRequest.HttpServerRequest) {
    const method = yield* readMethod(request)
    if (method === "OPTIONS") return Reply.preflight
    return yield* withParameters(budget, request, (parameters) => respond(method, parameters))
  })

  return (request: HttpServerRequest.HttpServerRequest): Effect.Effect<Response> =>
    Effect.catch(handle(request), (error: Refusal | HttpRejection) => Effect.succeed(Reply.renderError(error)))
})

const subscribe = Effect.fnUntraced(function*(hub: Hub["Service"], parameters: Parameters) {
  const topic = yield* parameters.one("hub.topic")
  const callback = yield* parameters.one("hub.callback")
  const secret = yield* readBounded(parameters, "hub.secret", maxHubSecretLength)
  const signature = yield* parameters.choice("hub.signature", signatureSchema)
  const leaseSeconds = yield* readLease(parameters)
  const { outcome } = yield* hub.subscribe({
    caller: anonymous,
    topic: topic ?? "",
    callback: callback ?? "",
    ...(secret !== undefined && { secret }),
    ...(signature !== undefined && { signature }),
    ...(leaseSeconds !== undefined && { leaseSeconds }),
    ...(yield* readVerification(parameters)),
    face: "hub",
    retrieve: false
  })
  return outcome === "pending" ? Reply.accepted : Reply.noContent
})

const unsubscribe = Effect.fnUntraced(function*(hub: Hub["Service"], parameters: Parameters) {
  const topic = yield* parameters.one("hub.topic")
  const callback = yield* parameters.one("hub.callback")
  const outcome = yield* hub.unsubscribe({
    caller: anonymous,
    topic: topic ?? "",
    callback: callback ?? "",
    ...(yield* readVerification(parameters)),
    face: "hub"
  })
  return outcome === "pending" ? Reply.accepted : Reply.noContent
})

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
