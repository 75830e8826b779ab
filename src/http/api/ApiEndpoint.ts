import { Effect } from "effect"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"
import { Hub } from "#actors/operations/Hub.ts"
import { hubUrlOf } from "#domain/delivery/Delivery.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { badParameter, type Refusal } from "#domain/Refusal.ts"
import { quote } from "#domain/Topic.ts"
import { UsedContents } from "./FatPing.ts"
import { Authentication, requireRight } from "#http/Authentication.ts"
import { HttpRejection } from "#http/HttpRejection.ts"
import { isJsonpName } from "#http/Jsonp.ts"
import { type Operation, operations, retrieve } from "./Operations.ts"
import type { Parameters } from "#http/Parameters.ts"
import * as Reply from "#http/Reply.ts"
import { Bodies, reading } from "#http/RequestBody.ts"
import { makeStream, waitOf } from "#http/stream/Stream.ts"

/**
 * The API's one address: `hub.mode` says what is wanted. Every failure becomes an answer here.
 */
export const makeApiEndpoint = Effect.gen(function*() {
  const hub = yield* Hub
  const authentication = yield* Authentication
  const bodies = yield* Bodies
  const stream = yield* makeStream
  const settings = yield* Settings
  const service = {
    extNamespace: settings.extNamespace,
    hub: hubUrlOf(settings),
    publishers: settings.publishers,
    usedContents: new UsedContents()
  }

  const answer = Effect.fnUntraced(function*(
    request: HttpServerRequest.HttpServerRequest,
    method: string,
    parameters: Parameters,
    jsonp: string | undefined,
    place: Place
  ) {
    const caller = yield* authentication.authenticate(request, parameters)
    const { changes, right, run } = yield* operationOf(parameters)
    if (changes && method !== "POST") return yield* needsPost(yield* parameters.one("hub.mode"), method)
    if (right !== undefined) yield* requireRight(caller, right)
    const { accept, "if-none-match": ifNoneMatch, "last-event-id": lastEventId } = request.headers
    const call = { caller, method, parameters, accept, ifNoneMatch, lastEventId, jsonp, service }
    const wait = run === retrieve ? yield* waitOf(call) : undefined
    if (wait !== undefined) return yield* stream(request, call, wait)
    return place === "stream"
      ? yield* noStream(run === retrieve ? undefined : yield* parameters.one("hub.mode"))
      : yield* run(hub, call)
  })

  const answerFor = Effect.fnUntraced(function*(
    request: HttpServerRequest.HttpServerRequest,
    method: string,
    parameters: Parameters,
    place: Place
  ) {
    const jsonp = method === "POST" ? undefined : yield* jsonpOf(parameters)
    return yield* Effect.catch(
      answer(request, method, parameters, jsonp, place),
      (error) => Effect.succeed(Reply.failed(error, jsonp))
    )
  })

  const handle = Effect.fnUntraced(function*(
    request: HttpServerRequest.HttpServerRequest,
    place: Place
  ) {
    const method = yield* methodOf(request)
    if (method === "OPTIONS") return Reply.preflight
    return yield* reading(bodies, request, (parameters) => answerFor(request, method, parameters, place))
  })

  return (place: Place) =>
  (request: HttpServerRequest.HttpServerRequest): Effect.Effect<HttpServerResponse.HttpServerResponse> =>
    Effect.catch(handle(request, place), (error) => Effect.succeed(Reply.failed(error)))
})

/** The API answers everything, the stream's address only what goes on. */
export type Place = "api" | "stream"

const noStream = (otherMode: string | undefined): Effect.Effect<never, Refusal> =>
  Effect.fail(
    otherMode === undefined
      ? badParameter(
        "wait",
        "Please provide wait=stream or wait=poll, or accept text/event-stream. Without, hub.mode=retrieve is answered at /."
      )
      : badParameter(
        "hub.mode",
        `Only hub.mode=retrieve is streamed; received hub.mode=${otherMode.trim()}, which is answered at /.`
      )
  )

/** Clients behind a proxy that lets only GET and POST through say what they mean in a header. */
export const methodOf = (request: HttpServerRequest.HttpServerRequest): Effect.Effect<string, HttpRejection> => {
  const override = request.headers["x-http-method-override"]
  const method = override === undefined || override.trim() === "" ? request.method : override.trim().toUpperCase()
  return Reply.methods.includes(method)
    ? Effect.succeed(method)
    : Effect.fail(
      new HttpRejection({
        status: 405,
        message: `The method ${quote(method)} is not known here; use GET or POST with a hub.mode.`,
        allow: Reply.allowed
      })
    )
}

const jsonpOf = (parameters: Parameters): Effect.Effect<string | undefined, Refusal> =>
  Effect.flatMap(parameters.one("callback"), (name) =>
    name === undefined || isJsonpName(name)
      ? Effect.succeed(name)
      : Effect.fail(
        badParameter(
          "callback",
          `callback has to be the name of a JavaScript function, of at most 128 characters; received ${quote(name)}. ` +
            "The URL for notifications is hub.callback."
        )
      ))

const operationOf = (parameters: Parameters): Effect.Effect<Operation, Refusal> =>
  Effect.flatMap(parameters.one("hub.mode"), (given) => {
    if (given === undefined) return Effect.fail(badParameter("hub.mode", `Please provide a hub.mode : ${modes}`))
    const operation = operations.get(given.trim().toLowerCase())
    return operation !== undefined
      ? Effect.succeed(operation)
      : Effect.fail(badParameter("hub.mode", `${quote(given).slice(1, -1)} is not a supported mode ${modes}`))
  })

/** As on the wire, where clients know these sentences; the younger modes follow. */
const modes = "subscribe|unsubscribe|publish. Also known here: list, retrieve, replay and authenticate."

/** Of a mode that is known, as it was sent. */
export const needsPost = (mode: string | undefined, method: string): HttpRejection =>
  new HttpRejection({
    status: 405,
    message: `hub.mode=${mode?.trim() ?? ""} changes something and needs POST; received ${method}.`,
    allow: "POST"
  })
