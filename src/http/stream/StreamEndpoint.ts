import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Deferred, Effect, type Scope } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import type { ServerResponse } from "node:http"
import { Hub, type RetrieveRequest } from "#actors/operations/Hub.ts"
import { accountKey, withContentRoom } from "#actors/limits/MemoryRoom.ts"
import { DocumentMemory } from "#domain/ports/DocumentMemory.ts"
import { hubUrlOf, type SenderIdentity } from "#domain/delivery/Delivery.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { badParameter, type Refusal } from "#domain/Refusal.ts"
import { renderAtom } from "#domain/render/AtomXml.ts"
import { renderJson } from "#domain/render/NotificationJson.ts"
import type { Format } from "#domain/Subscription.ts"
import { quote } from "#domain/Topic.ts"
import type { ApiCall } from "#http/api/Operation.ts"
import { readRetrieveRequest, waitSchema } from "#http/api/Operations.ts"
import { toJsonLine } from "#http/Json.ts"
import { accepts, readFormat } from "#http/Negotiation.ts"
import * as Reply from "#http/Reply.ts"
import * as Cursor from "./Cursor.ts"
import * as Framing from "./Framing.ts"
import { type FollowedRetrieve, poll } from "./LongPoll.ts"
import { frameGap, makeListener, type StartedStream } from "./StreamListener.ts"
import { StreamRegistry } from "./StreamRegistry.ts"
import { StreamMemory } from "./StreamMemory.ts"
import { StreamWriter } from "./StreamWriter.ts"

type Response = HttpServerResponse.HttpServerResponse

/** How a retrieve waits for future content. */
type Wait = "poll" | Framing.Framing

/** Reads `wait`; undefined for an immediate response. A client that accepts server-sent events gets events even without `wait`. */
const readWait = Effect.fnUntraced(function*({ accept, parameters }: ApiCall) {
  const wait = yield* parameters.choice("wait", waitSchema)
  if (wait === "poll") return "poll"
  if (accepts(accept, Framing.contentTypes.events)) return "events"
  if (wait === undefined) return undefined
  return (yield* readFormat(parameters, accept)) === "json" ? "lines" : "atom"
})

/** A stream or long poll before its first byte. */
interface PreparedStream extends FollowedRetrieve {
  readonly format: Format
}

/**
 * Streams and long polls. Returns undefined for a retrieve that does not wait.
 *
 * Each step drops the values of the step before: with ten thousand open streams, no page of past entries stays in memory.
 */
export const makeStreamEndpoint = Effect.gen(function*() {
  const hub = yield* Hub
  const registry = yield* StreamRegistry
  const sender = yield* Settings
  const { exchanges } = yield* DocumentMemory
  const memory = new StreamMemory(exchanges)

  const prepare = Effect.fnUntraced(function*(call: ApiCall, wait: Wait) {
    if (wait !== "poll" && call.jsonp !== undefined) return yield* noJsonp
    const connection = yield* registry.admit(call.caller)
    const asked = yield* readRetrieveRequest(call)
    // a poll goes on from the latest stored entry: entries may be dated before the entries that the client has
    const request: RetrieveRequest = wait === "poll" ? { ...asked, order: "stored" } : asked
    const followed = yield* hub.follow(request)
    const requested = yield* readFormat(call.parameters, call.accept)
    const format = requested ?? (wait === "events" ? "json" : "atom")
    return { call, request, followed, connection, format } satisfies PreparedStream
  })

  /** The past has its room until it is rendered, and the frame until it is sent. A poll keeps the past, and so its room, until its end. */
  const respond = (request: HttpServerRequest.HttpServerRequest, call: ApiCall, wait: Wait) => {
    const key = accountKey(call.caller.account.id)
    const response: Effect.Effect<Response, Refusal, Scope.Scope> = wait === "poll"
      ? withContentRoom(exchanges, key, Effect.flatMap(prepare(call, wait), (prepared) => poll(hub, prepared)))
      : Effect.flatMap(
        withContentRoom(
          exchanges,
          key,
          Effect.flatMap(prepare(call, wait), (prepared) => renderStart(wait, prepared, sender))
        ),
        (opening) => {
          if (call.method === "HEAD") return Effect.succeed(Reply.streamHead(Framing.contentTypes[wait]))
          const writer = new StreamWriter(nodeResponseOf(request), Reply.streamHeaders(Framing.contentTypes[wait]), {
            memory,
            key
          })
          return followStream(hub, startStream(writer, opening), sender)
        }
      )
    return Effect.scoped(response)
  }

  return (request: HttpServerRequest.HttpServerRequest, call: ApiCall): Effect.Effect<Response | undefined, Refusal> =>
    Effect.flatMap(readWait(call), (wait) => wait === undefined ? Effect.undefined : respond(request, call, wait))
})

const nodeResponseOf = (request: HttpServerRequest.HttpServerRequest) =>
  NodeHttpServerRequest.toServerResponse(request) as ServerResponse

const noJsonp = badParameter(
  "callback",
  "callback (JSONP) does not work with a stream, because a stream never ends. Use wait=poll or server-sent events, or leave it out."
)

/** A stream before its first byte, and its first frames. */
interface Opening extends Omit<StartedStream, "writer"> {
  readonly frames: ReadonlyArray<Buffer>
}

/** Renders past entries. A client that resumes gets none. */
const renderStart = Effect.fnUntraced(function*(
  framing: Framing.Framing,
  { call, connection, followed, format }: PreparedStream,
  settings: Settings["Service"]
): Effect.fn.Return<Opening, Refusal> {
  const cursors = new Map(followed.heads)
  const resumption = yield* Cursor.resume(call, cursors)
  const past = yield* renderPast(followed.past, format, settings)
  const frames: Array<Buffer> = []
  if (resumption === "unknown" && framing === "events") frames.push(frameGap(null, cursors))
  if (resumption !== "resumed") {
    frames.push(Framing.frameDocument(framing, past, "notification", Cursor.format(cursors)))
  }
  return { topics: followed.topics, format, framing, cursors, connection, frames }
})

const startStream = (writer: StreamWriter, { frames, ...opening }: Opening): StartedStream => {
  for (const frame of frames) writer.write(frame)
  return { ...opening, writer }
}

/** Renders the past entries as one document. */
const renderPast = (
  { document, entries, header, isCombined, status }: PreparedStream["followed"]["past"],
  format: Format,
  { baseUrl, extNamespace, hubOpen }: Settings["Service"]
): Effect.Effect<string, Refusal> => {
  if (document !== undefined) {
    const json = format === "json" ? toJsonLine(document) : undefined
    return json === undefined ? Effect.fail(notStreamed(document.contentType)) : Effect.succeed(json)
  }
  if (format === "json") return Effect.succeed(renderJson({ status, header, entries }))
  const links = { self: status.feed, ...(hubOpen && isCombined !== true && { hub: hubUrlOf({ baseUrl, hubOpen }) }) }
  return Effect.succeed(renderAtom({ status, header, entries, extNamespace, ...links }))
}

const notStreamed = (contentType: string) =>
  badParameter(
    "wait",
    `A stream carries feeds, and JSON documents with format=json; this resource is ${quote(contentType)}. ` +
      "Use wait=poll, or a callback."
  )

/** Writes notifications until the client disconnects, loses its right, or Windhover stops. */
const followStream = Effect.fnUntraced(function*(hub: Hub["Service"], started: StartedStream, sender: SenderIdentity) {
  const { connection, framing, writer } = started
  const ended = yield* Deferred.make<void>()
  const end = () => Deferred.doneUnsafe(ended, Effect.void)
  connection.onHeartbeat = () => {
    if (!writer.isFull) writer.write(Framing.heartbeats[framing])
    writer.checkProgress()
  }
  connection.onEnd = end
  writer.onRoom = yield* hub.listen(makeListener(started, sender, end))
  if (!writer.isFull) writer.onRoom() // room may have appeared before `onRoom` was set
  yield* Deferred.await(ended)
  writer.end()
  return HttpServerResponse.empty()
})
