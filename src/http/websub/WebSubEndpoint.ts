import { Effect, Schema } from "effect"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"
import { Hub } from "#actors/operations/Hub.ts"
import { anonymous } from "#domain/Account.ts"
import { badParameter, type Refusal } from "#domain/Refusal.ts"
import { quote } from "#domain/Topic.ts"
import * as Contract from "#http/api/Contract.ts"
import type { HttpRejection } from "#http/HttpRejection.ts"
import { bounded, publishedTopics, verification } from "#http/api/Operations.ts"
import type { Parameters } from "#http/Parameters.ts"
import { makePings } from "#http/api/Pings.ts"
import * as Reply from "#http/Reply.ts"
import { Bodies, reading } from "#http/RequestBody.ts"
import { methodOf, needsPost } from "#http/api/ApiEndpoint.ts"

/** What a person or a script finds here. */
const about =
  "This is an open WebSub hub (https://www.w3.org/TR/websub/). To subscribe, POST hub.mode=subscribe, hub.topic and hub.callback as a form; " +
  "to publish, POST hub.mode=publish and hub.url. No credentials are needed: the callback is asked.\n"

type Run = (parameters: Parameters) => Effect.Effect<HttpServerResponse.HttpServerResponse, Refusal>

/**
 * The open hub, at `/hub`: WebSub as it is recommended, without credentials, and with what PubSubHubbub 0.3 had before it.
 *
 * Parameters that it does not know are ignored, as section 5.1 wants it.
 */
export const makeWebSubEndpoint = Effect.gen(function*() {
  const hub = yield* Hub
  const bodies = yield* Bodies
  const pings = yield* makePings(hub.publish)

  const subscribe: Run = Effect.fnUntraced(function*(parameters) {
    const topic = yield* parameters.one("hub.topic")
    const callback = yield* parameters.one("hub.callback")
    const secret = yield* bounded(parameters, "hub.secret", Contract.maxHubSecretLength)
    const signature = yield* parameters.choice("hub.signature", Contract.signature)
    const leaseSeconds = yield* leaseOf(parameters)
    const { outcome } = yield* hub.subscribe({
      caller: anonymous,
      topic: topic ?? "",
      callback: callback ?? "",
      ...(secret !== undefined && { secret }),
      ...(signature !== undefined && { signature }),
      ...(leaseSeconds !== undefined && { leaseSeconds }),
      ...(yield* verification(parameters)),
      face: "hub",
      retrieve: false
    })
    return outcome === "pending" ? Reply.pending : Reply.done
  })

  const unsubscribe: Run = Effect.fnUntraced(function*(parameters) {
    const topic = yield* parameters.one("hub.topic")
    const callback = yield* parameters.one("hub.callback")
    const outcome = yield* hub.unsubscribe({
      caller: anonymous,
      topic: topic ?? "",
      callback: callback ?? "",
      ...(yield* verification(parameters)),
      face: "hub"
    })
    return outcome === "pending" ? Reply.pending : Reply.done
  })

  const publish: Run = Effect.fnUntraced(function*(parameters) {
    yield* pings(yield* publishedTopics(parameters))
    return Reply.done
  })

  const modes: ReadonlyMap<string, Run> = new Map(
    Object.entries({ subscribe, unsubscribe, publish } satisfies { [M in keyof typeof Contract.hubRequests]: Run })
  )

  const modeOf = (parameters: Parameters): Effect.Effect<{ readonly mode: string; readonly run: Run }, Refusal> =>
    Effect.flatMap(parameters.one("hub.mode"), (given) => {
      if (given === undefined) return Effect.fail(badParameter("hub.mode", `Please provide a hub.mode : ${known}`))
      const run = modes.get(given.trim().toLowerCase())
      return run !== undefined
        ? Effect.succeed({ mode: given, run })
        : Effect.fail(badParameter("hub.mode", `${quote(given).slice(1, -1)} is not a supported mode ${known}`))
    })

  const answer = Effect.fnUntraced(function*(method: string, parameters: Parameters) {
    if (method !== "POST" && !parameters.has("hub.mode")) return Reply.text(200, about)
    const { mode, run } = yield* modeOf(parameters)
    return method === "POST" ? yield* run(parameters) : yield* needsPost(mode, method)
  })

  const handle = Effect.fn("HubFace.handle")(function*(request: HttpServerRequest.HttpServerRequest) {
    const method = yield* methodOf(request)
    if (method === "OPTIONS") return Reply.preflight
    return yield* reading(bodies, request, (parameters) => answer(method, parameters))
  })

  return (request: HttpServerRequest.HttpServerRequest): Effect.Effect<HttpServerResponse.HttpServerResponse> =>
    Effect.catch(handle(request), (error: Refusal | HttpRejection) => Effect.succeed(Reply.failed(error)))
})

/** As on the wire, where clients know these sentences. */
const known = Object.keys(Contract.hubRequests).join("|")

const leaseOf = (parameters: Parameters): Effect.Effect<number | undefined, Refusal> =>
  Effect.flatMap(parameters.one("hub.lease_seconds"), (text) => {
    if (text === undefined) return Effect.undefined
    const seconds = /^\d+$/.test(text.trim()) ? Number(text) : NaN
    return Schema.is(Contract.leaseSeconds)(seconds)
      ? Effect.succeed(seconds)
      : Effect.fail(
        badParameter(
          "hub.lease_seconds",
          `hub.lease_seconds has to be a whole number of seconds; received ${
            quote(text)
          }. Without it, ten days are taken.`
        )
      )
  })
