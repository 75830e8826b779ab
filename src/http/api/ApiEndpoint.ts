import { toServerResponse } from "@effect/platform-node/NodeHttpServerRequest"
import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import { Hub } from "#actors/operations/Hub.ts"
import { hubUrlOf } from "#domain/delivery/Delivery.ts"
import { DocumentMemory } from "#domain/ports/DocumentMemory.ts"
import { Precedence } from "#domain/ports/Precedence.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { badParameter, type Refusal, refuse, refuseUnavailable, Unauthenticated } from "#domain/Refusal.ts"
import { quote } from "#domain/Topic.ts"
import { Authentication, requireRight } from "#http/Authentication.ts"
import { rejectCrossSite } from "#http/CrossSite.ts"
import { needsPost, readMethod, selectMode } from "#http/HubModes.ts"
import { isJsonpName, maxJsonpNameLength } from "#http/Json.ts"
import type { Parameters } from "#http/Parameters.ts"
import { accountKey, growTo, withContentRoom } from "#actors/limits/MemoryRoom.ts"
import * as Reply from "#http/Reply.ts"
import { withParameters } from "#http/RequestBody.ts"
import { AcceptedContents } from "./FatPing.ts"
import type { ApiCall, Operation, ServiceInfo } from "./Operation.ts"
import { operations } from "./Operations.ts"

/** Path of a request: `/` serves every operation, `/stream` only streams and long polls. */
type ApiPath = "api" | "stream"

/** Serves a stream or a long poll; undefined when the client does not wait for future content. */
type StreamHandler = (
  request: HttpServerRequest,
  call: ApiCall
) => Effect.Effect<HttpServerResponse | undefined, Refusal>

/**
 * The handlers of the API, which select an operation by `hub.mode`. Every failure becomes a response.
 */
export const makeApiEndpoint = Effect.fnUntraced(function*(stream: StreamHandler) {
  const hub = yield* Hub
  const authentication = yield* Authentication
  const { exchanges } = yield* DocumentMemory
  const settings = yield* Settings
  const precedence = yield* Precedence
  const service: ServiceInfo = { ...settings, hub: hubUrlOf(settings), acceptedContents: new AcceptedContents() }

  const runOperation = Effect.fnUntraced(function*(
    request: HttpServerRequest,
    method: string,
    parameters: Parameters,
    jsonp: string | undefined,
    path: ApiPath
  ) {
    const caller = yield* authentication.authenticate(request, parameters).pipe(
      Effect.mapError((refusal) => settings.hubOpen ? nameOpenHub(refusal, parameters, service.hub) : refusal)
    )
    const { operation, word } = yield* selectMode<Operation>(parameters, operations, listing)
    if (operation.changesState || operation.sendsNotifications === true) {
      yield* rejectCrossSite(request, settings.baseUrl, `hub.mode=${word.trim()}`)
    } else if (jsonp !== undefined) yield* rejectCrossSite(request, settings.baseUrl, "JSONP")
    if (operation.changesState && method !== "POST") return yield* needsPost(word, method)
    if (operation.right !== undefined) yield* requireRight(caller, operation.right)
    const { accept, "if-none-match": ifNoneMatch, "last-event-id": lastEventId } = request.headers
    const call: ApiCall = { caller, method, parameters, accept, ifNoneMatch, lastEventId, jsonp, service }
    const canStream = operation.streamParameters !== undefined
    const streamed = canStream ? yield* stream(request, call) : undefined
    if (streamed !== undefined) return streamed
    if (path === "api") {
      const key = accountKey(caller.account.id)
      const running = precedence.withPrecedence(withContentRoom(exchanges, key, operation.run(hub, call)))
      const response = yield* running
      const bytes = lengthOf(response)
      return bytes < largeResponseBytes ? response : yield* inMemory(request, key, response, bytes)
    }
    return yield* canStream ? missingWait : notStreamable(word)
  })

  /** Gives a large response its room until the client has it, or has gone. */
  const inMemory = Effect.fnUntraced(
    function*(request: HttpServerRequest, key: string, response: HttpServerResponse, bytes: number) {
      const reservation = exchanges.reserve(key)
      const release = () => reservation.release()
      yield* Effect.onError(growTo(reservation, bytes, tooManyLargeResponses), () => Effect.sync(release))
      const connection = toServerResponse(request)
      if (connection.closed) release()
      else connection.once("close", release)
      return response
    }
  )

  const respond = (request: HttpServerRequest, method: string, parameters: Parameters, path: ApiPath) => {
    const run = (jsonp: string | undefined) =>
      Reply.catchErrors(runOperation(request, method, parameters, jsonp, path), jsonp)
    return method === "POST" ? run(undefined) : Effect.flatMap(readJsonp(parameters), run)
  }

  const handle = (request: HttpServerRequest, path: ApiPath) =>
    Effect.flatMap(readMethod(request), (method) =>
      method === "OPTIONS"
        ? Effect.succeed(Reply.preflight)
        : withParameters(exchanges, request, (parameters) => respond(request, method, parameters, path)))

  return (path: ApiPath) => (request: HttpServerRequest): Effect.Effect<HttpServerResponse> =>
    Reply.catchErrors(handle(request, path))
})

/** Bytes of a response; 0 for a stream. */
const lengthOf = ({ body }: HttpServerResponse): number => "contentLength" in body ? body.contentLength ?? 0 : 0

/** Smaller responses leave before they add up. */
const largeResponseBytes = 1024 * 1024

const tooManyLargeResponses = refuseUnavailable(
  "Too many large responses are under way. Please try again, or ask for fewer entries (count, by_page).",
  5
)

const listModes = (changesState: boolean): ReadonlyArray<string> =>
  Object.entries(operations).filter(([, operation]) => operation.changesState === changesState).map(([mode]) => mode)

/** The modes in error sentences. The first three stand as in the original service, whose clients compare the sentence. */
const listing = `${listModes(true).join("|")}. Also known here: ${
  listModes(false).join(", ").replace(/, (?=\w+$)/, " and ")
}.`

/** Points a publisher without credentials to the open hub, because many publishers ping the root of a hub. */
const nameOpenHub = (refusal: Refusal, parameters: Parameters, hub: string): Refusal => {
  const isPing = parameters.all("hub.mode").some((mode) => mode.trim().toLowerCase() === "publish")
  return isPing && refusal.reason instanceof Unauthenticated
    ? refuse(new Unauthenticated({ message: `${refusal.message} Pings without credentials go to ${hub}.` }))
    : refusal
}

const missingWait = badParameter(
  "wait",
  "Please provide wait=stream or wait=poll, or accept text/event-stream. For a single response, send hub.mode=retrieve to /."
)

const notStreamable = (mode: string): Refusal =>
  badParameter(
    "hub.mode",
    `Only hub.mode=retrieve can be streamed; received hub.mode=${mode.trim()}. Send this mode to /.`
  )

const readJsonp = (parameters: Parameters): Effect.Effect<string | undefined, Refusal> =>
  Effect.flatMap(parameters.one("callback"), (name) =>
    name === undefined || isJsonpName(name)
      ? Effect.succeed(name)
      : Effect.fail(
        badParameter(
          "callback",
          `callback has to be the name of a JavaScript function, of at most ${maxJsonpNameLength} characters; received ${
            quote(name)
          }. ` +
            "The URL for notifications is hub.callback."
        )
      ))
