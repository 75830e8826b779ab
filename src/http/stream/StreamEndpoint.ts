import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Effect } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import type { ServerResponse } from "node:http"
import { Hub, type RetrieveRequest } from "#actors/operations/Hub.ts"
import type { Attachment } from "#actors/stream/Listeners.ts"
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
import { makeFrame } from "./Frame.ts"
import { frameGap, type StreamContent, StreamListener } from "./StreamListener.ts"
import { type StreamConnection, StreamRegistry } from "./StreamRegistry.ts"
import { StreamMemory } from "./StreamMemory.ts"
import { awaitTurn, takeSocket } from "./StreamSocket.ts"
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
 * Each step drops the values of the step before: with ten thousand open streams, no page of past entries stays in memory. An open stream has
 * neither fiber nor request, only its socket and a listener.
 */
export const makeStreamEndpoint = Effect.gen(function*() {
  const hub = yield* Hub
  const registry = yield* StreamRegistry
  const sender = yield* Settings
  const { exchanges } = yield* DocumentMemory
  const memory = new StreamMemory(exchanges)

  const prepare = Effect.fnUntraced(function*(call: ApiCall, wait: Wait, connection: StreamConnection) {
    const asked = yield* readRetrieveRequest(call)
    // a poll goes on from the latest stored entry: entries may be dated before the entries that the client has
    const request: RetrieveRequest = wait === "poll" ? { ...asked, order: "stored" } : asked
    const followed = yield* hub.follow(request)
    const requested = yield* readFormat(call.parameters, call.accept)
    const format = requested ?? (wait === "events" ? "json" : "atom")
    return { call, request, followed, connection, format } satisfies PreparedStream
  })

  /** A poll keeps the past, and so its room, until its end. */
  const respondToPoll = (call: ApiCall) =>
    Effect.scoped(withContentRoom(
      exchanges,
      accountKey(call.caller.account.id),
      Effect.flatMap(registry.admit(call.caller), (connection) =>
        Effect.flatMap(prepare(call, "poll", connection), (prepared) => poll(hub, prepared)))
    ))

  /** The past has its room until it is rendered, and the frame until it is sent. */
  const respondWithStream = (request: HttpServerRequest.HttpServerRequest, call: ApiCall, framing: Framing.Framing) => {
    const key = accountKey(call.caller.account.id)
    let isOpen = false
    const open = Effect.fnUntraced(function*(connection: StreamConnection) {
      const opening = yield* withContentRoom(
        exchanges,
        key,
        Effect.flatMap(prepare(call, framing, connection), (prepared) => renderStart(framing, prepared, sender))
      )
      const headers = Reply.streamHeaders(Framing.contentTypes[framing])
      if (call.method === "HEAD") return Reply.streamHead(Framing.contentTypes[framing])
      const response = nodeResponseOf(request)
      yield* awaitTurn(response)
      const socket = takeSocket(response, headers)
      if (socket === undefined) return HttpServerResponse.empty()
      isOpen = true
      yield* follow(hub, sender, opening, connection, new StreamWriter(socket, { memory, key }), registry)
      return HttpServerResponse.empty()
    })
    return Effect.acquireUseRelease(
      registry.enter(call.caller),
      open,
      (connection) => Effect.sync(() => isOpen || registry.leave(connection))
    )
  }

  return (
    request: HttpServerRequest.HttpServerRequest,
    call: ApiCall
  ): Effect.Effect<Response | undefined, Refusal> =>
    Effect.flatMap(readWait(call), (wait) => {
      if (wait === undefined) return Effect.undefined
      if (wait === "poll") return respondToPoll(call)
      return call.jsonp === undefined ? respondWithStream(request, call, wait) : Effect.fail(noJsonp)
    })
})

const nodeResponseOf = (request: HttpServerRequest.HttpServerRequest) =>
  NodeHttpServerRequest.toServerResponse(request) as ServerResponse

const noJsonp = badParameter(
  "callback",
  "callback (JSONP) does not work with a stream, because a stream never ends. Use wait=poll or server-sent events, or leave it out."
)

/** A stream before its first byte. */
interface Opening extends StreamContent {
  readonly frames: ReadonlyArray<Buffer>
}

/** Renders past entries. A client that resumes gets none. */
const renderStart = Effect.fnUntraced(function*(
  framing: Framing.Framing,
  { call, followed, format }: PreparedStream,
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
  return { topics: followed.topics, format, framing, cursors, frames }
})

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

/**
 * Writes the first frames, and attaches the stream to its notifications. The stream ends with its socket: when the client disconnects or loses
 * its right, or when Windhover stops.
 */
const follow = (
  hub: Hub["Service"],
  sender: SenderIdentity,
  { cursors, format, frames, framing, topics }: Opening,
  connection: StreamConnection,
  writer: StreamWriter,
  registry: StreamRegistry["Service"]
): Effect.Effect<void> => {
  let attached: Attachment | undefined
  writer.onClose = () => {
    attached?.detach()
    registry.leave(connection)
  }
  for (const frame of frames) writer.write(makeFrame(frame))
  connection.onHeartbeat = () => {
    if (!writer.isFull) writer.write(Framing.heartbeats[framing])
    writer.checkProgress()
  }
  connection.onEnd = () => writer.end()
  const listener = new StreamListener({ cursors, format, framing, topics }, writer, sender)
  return Effect.onError(
    hub.attach(listener, (attachment) => {
      attached = attachment
      writer.onRoom = attachment.resume
      if (writer.isClosed) attachment.detach()
      else if (!writer.isFull) attachment.resume() // room may have appeared before `onRoom` was set
    }),
    () => Effect.sync(() => writer.end())
  )
}
