import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Deferred, Effect, type Scope } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import type { ServerResponse } from "node:http"
import { type FollowStart, Hub, type Representation, type RetrieveRequest } from "#actors/operations/Hub.ts"
import type { Listener } from "#actors/operations/Listeners.ts"
import type { SenderIdentity } from "#domain/delivery/Delivery.ts"
import type { Notification } from "#domain/delivery/Notification.ts"
import type { NumberedNotification } from "#domain/ports/NotificationLog.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { badParameter, type Refusal, refuse, Unavailable } from "#domain/Refusal.ts"
import { renderAtom } from "#domain/render/AtomXml.ts"
import { renderJson } from "#domain/render/NotificationJson.ts"
import { quote } from "#domain/Topic.ts"
import * as Contract from "#http/api/Contract.ts"
import * as Cursor from "./Cursor.ts"
import * as Frames from "./Frames.ts"
import { accepts, type Asked, askedFormat, wantedFormat } from "#http/Negotiation.ts"
import { type Call, retrieval } from "#http/api/Operations.ts"
import { StreamWriter } from "./StreamWriter.ts"
import * as Reply from "#http/Reply.ts"
import * as Representations from "#http/api/Representations.ts"
import { type OpenStream, Streams } from "./Streams.ts"

/** A poll is held for so long; behind a proxy that closes what is quiet for a minute it still gets its answer. */
const pollPatience = "55 seconds"

/** How a retrieve is to wait for what comes; undefined when it is to be answered at once. */
export type Wait = "poll" | Frames.Framing

/** `wait` decides; a client that takes server-sent events gets those. */
export const waitOf = Effect.fnUntraced(function*({ accept, parameters }: Call) {
  const wait = yield* parameters.choice("wait", Contract.wait)
  if (wait === "poll") return "poll"
  if (accepts(accept, Frames.contentTypes.events)) return "events"
  if (wait === undefined) return undefined
  return (yield* askedFormat(parameters, accept)) === "json" ? "lines" : "atom"
})

/** What a stream is about: a retrieve, and how it goes on. */
interface Opened {
  readonly call: Call
  readonly request: RetrieveRequest
  readonly followed: FollowStart
  readonly place: OpenStream
  readonly format: Asked
}

export const makeStream = Effect.gen(function*() {
  const hub = yield* Hub
  const streams = yield* Streams
  const sender = yield* Settings

  /** The answer to a poll: what is there, or what comes first. */
  const poll = Effect.fnUntraced(function*({ call, followed: { heads, past, topics }, place, request }: Opened) {
    const format = yield* wantedFormat(call.parameters, call.accept)
    const answer = (representation: Representation) => Representations.reply(representation, { ...call, ...format })
    const first = yield* answer(past)
    if (first.status === 200 && (past.entries.length > 0 || past.document !== undefined)) return first
    const news = yield* Deferred.make<Notification | undefined, Refusal>()
    place.onOver = () => Deferred.doneUnsafe(news, Effect.undefined)
    yield* hub.listen({
      cursors: new Map(heads),
      take: ({ notification }) => {
        if (notification.news._tag === "Failure") return true // nothing was added
        Deferred.doneUnsafe(news, Effect.succeed(notification))
        return false
      },
      missed: () => undefined,
      fail: () => Deferred.doneUnsafe(news, Effect.fail(unreadable))
    })
    const came = yield* Deferred.await(news).pipe(
      Effect.timeoutOrElse({ duration: pollPatience, orElse: () => Effect.undefined })
    )
    if (came === undefined) return first
    const now = yield* hub.retrieve(request)
    // an entry can be older than the one that was asked for, or than the newest ones, by its own date
    return yield* answer(now.entries.length > 0 || now.document !== undefined ? now : represented(came, topics))
  })

  /** The header and the past, or where the client was: from here on it is only listened for. */
  const begin = Effect.fnUntraced(function*(response: ServerResponse, framing: Frames.Framing, opened: Opened) {
    const { call, followed, format, place } = opened
    const cursors = new Map(followed.heads)
    const resumed = yield* resume(call, cursors)
    const past = yield* documentOf(opened, sender)
    if (call.method === "HEAD") return undefined
    const outlet = new StreamWriter(response, Reply.streaming(Frames.contentTypes[framing]))
    if (resumed === "unknown" && framing === "events") outlet.write(gap(null, cursors))
    if (resumed !== "resumed") outlet.write(Frames.frame(framing, past, "notification", Cursor.write(cursors)))
    return { topics: followed.topics, format, framing, outlet, cursors, place } satisfies Begun
  })

  /** Writes until the client goes, may not listen any more, or the service stops. What is held for it now, is held for as long as it listens. */
  const hold = Effect.fnUntraced(function*(begun: Begun) {
    const { framing, outlet, place } = begun
    const ended = yield* Deferred.make<void>()
    const end = () => Deferred.doneUnsafe(ended, Effect.void)
    place.beat = () => {
      if (!outlet.full) outlet.write(Frames.heartbeats[framing])
      outlet.look()
    }
    place.onOver = end
    outlet.onRoom = yield* hub.listen(makeListener(begun, sender, end))
    if (!outlet.full) outlet.onRoom() // there may have been room again before
    yield* Deferred.await(ended)
    outlet.end()
    return HttpServerResponse.empty()
  })

  const open = Effect.fnUntraced(function*(call: Call, wait: Wait) {
    if (wait !== "poll" && call.jsonp !== undefined) return yield* noScript
    const place = yield* streams.admit(call.caller)
    const request = yield* retrieval(call)
    const followed = yield* hub.follow(request)
    const asked = yield* askedFormat(call.parameters, call.accept)
    return { call, request, followed, place, format: asked ?? (wait === "events" ? "json" : "atom") } satisfies Opened
  })

  /** In steps, each of which lets go of what the one before it needed: ten thousand clients hold no pages of entries. */
  return (source: HttpServerRequest.HttpServerRequest, call: Call, wait: Wait) =>
    open(call, wait).pipe(
      Effect.flatMap((opened): Effect.Effect<HttpServerResponse.HttpServerResponse, Refusal, Scope.Scope> =>
        wait === "poll" ? poll(opened) : Effect.flatMap(
          begin(responseOf(source), wait, opened),
          (begun) => begun === undefined ? Effect.succeed(Reply.head(Frames.contentTypes[wait])) : hold(begun)
        )
      ),
      Effect.scoped
    )
})

const responseOf = (source: HttpServerRequest.HttpServerRequest) =>
  NodeHttpServerRequest.toServerResponse(source) as ServerResponse

const noScript = badParameter(
  "callback",
  "callback (JSONP) cannot be had with a stream, which never ends; use wait=poll, or server-sent events. Leave it out."
)

const unreadable = refuse(
  new Unavailable({ message: "What is new cannot be read for the moment. Please try again.", retryAfter: 5 })
)

/** What was told, as the answer to a retrieve. */
const represented = (
  { header, news, resourceId, status }: Notification,
  topics: ReadonlyMap<number, string>
): Representation => ({
  status: { ...status, feed: topics.get(resourceId) ?? "" },
  ...(header !== undefined && { header }),
  entries: news._tag === "Entries" ? news.entries : [],
  ...(news._tag === "Document" && { document: news.document })
})

/** Moves the cursors back to the event that the client had last. */
const resume = Effect.fnUntraced(function*(call: Call, cursors: Map<number, number>) {
  const id = call.lastEventId ?? (yield* call.parameters.one("lastEventId"))
  if (id === undefined || id === "") return "new"
  const brought = Cursor.read(id, [...cursors.keys()])
  if (brought === undefined) return "unknown"
  for (const [resource, sequence] of brought) {
    if (sequence > (cursors.get(resource) ?? 0)) return "unknown"
  }
  for (const [resource, sequence] of brought) cursors.set(resource, sequence)
  return "resumed"
})

/** The past as one document. */
const documentOf = (
  { followed: { past }, format }: Opened,
  { baseUrl, extNamespace, hubOpen }: Settings["Service"]
): Effect.Effect<string, Refusal> => {
  const { document, entries, header, status } = past
  if (document !== undefined) {
    const json = format === "json" ? Frames.compactJson(document.body) : undefined
    return json === undefined ? Effect.fail(notStreamed(document.contentType)) : Effect.succeed(json)
  }
  if (format === "json") return Effect.succeed(renderJson({ status, header, entries }))
  const links = { self: status.feed, ...(hubOpen && { hub: `${baseUrl}/hub` }) }
  return Effect.succeed(renderAtom({ status, header, entries, extNamespace, ...links }))
}

const notStreamed = (contentType: string) =>
  badParameter(
    "wait",
    `A stream carries feeds, and with format=json documents that are JSON; this resource is ${quote(contentType)}. ` +
      "Use wait=poll, or a callback."
  )

/** A stream whose past is written. */
interface Begun {
  /** By resource. */
  readonly topics: ReadonlyMap<number, string>
  readonly format: Asked
  readonly framing: Frames.Framing
  readonly outlet: StreamWriter
  readonly cursors: Map<number, number>
  readonly place: OpenStream
}

const makeListener = (
  { cursors, format, framing, outlet, topics }: Begun,
  sender: SenderIdentity,
  end: () => void
): Listener => {
  const alone = cursors.size === 1
  return {
    cursors,
    take: (numbered) => {
      const bytes = framed(numbered, topics.get(numbered.notification.resourceId) ?? "", framing, format, alone, sender)
      if (bytes === undefined) {
        end() // it has become what a stream does not carry: who asks again is told
        return false
      }
      if (!alone && framing === "events") outlet.write(Frames.idField(Cursor.write(cursors)))
      return outlet.write(bytes)
    },
    missed: (_, count) => {
      if (framing === "events") outlet.write(gap(count, cursors))
      else end() // there is no way to say it: who asks again gets what is stored
    },
    fail: end
  }
}

/** Made once for all listeners who wrote the topic alike and want it alike; gone with the notification. */
const made = new WeakMap<Notification, Map<string, Buffer | undefined>>()

const framed = (
  { notification, sequence }: NumberedNotification,
  topic: string,
  framing: Frames.Framing,
  format: Asked,
  alone: boolean,
  sender: SenderIdentity
): Buffer | undefined => {
  const key = `${framing} ${format} ${alone} ${topic}`
  let frames = made.get(notification)
  if (frames === undefined) made.set(notification, frames = new Map())
  if (frames.has(key)) return frames.get(key)
  const body = Frames.documentOf(notification, topic, format, sender)
  const bytes = body === undefined
    ? undefined
    : Frames.frame(framing, body, "notification", alone ? String(sequence) : undefined)
  frames.set(key, bytes)
  return bytes
}

/** Tells a client that it has not heard everything: `missed` notifications, null when nobody knows how many. */
const gap = (missed: number | null, cursors: ReadonlyMap<number, number>): Buffer =>
  Frames.frame("events", JSON.stringify({ missed, message: gapMessage }), "gap", Cursor.write(cursors))

const gapMessage =
  "Notifications that came after your last event are not kept any more; hub.mode=retrieve gives the entries that are stored."
