import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Deferred, Effect, Fiber, Schedule, type Scope } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import type { ServerResponse } from "node:http"
import { accountKey } from "#actors/limits/MemoryRoom.ts"
import { CurrentLiveFeed, type LiveFeed } from "#actors/runtime/LiveFeed.ts"
import type { Caller } from "#domain/Account.ts"
import type { LiveEvent } from "#domain/LiveEvent.ts"
import { DocumentMemory } from "#domain/ports/DocumentMemory.ts"
import { maskCredentials } from "#domain/UrlCredentials.ts"
import type { Refusal } from "#domain/Refusal.ts"
import type { HttpRejection } from "#http/HttpRejection.ts"
import * as Reply from "#http/Reply.ts"
import { type Frame, makeFrame } from "./Frame.ts"
import { heartbeats } from "./Framing.ts"
import { StreamMemory } from "./StreamMemory.ts"
import { StreamRegistry } from "./StreamRegistry.ts"
import { awaitTurn, takeSocket } from "./StreamSocket.ts"
import { StreamWriter } from "./StreamWriter.ts"

type Response = HttpServerResponse.HttpServerResponse

/** Interval between two updates. */
const updateInterval = "1 second"

/** Events of one update. The others are counted. */
const maxEvents = 20

/** Characters of a text in an event. */
const maxTextLength = 300

/** An open page. */
interface LivePage {
  /** Undefined for an operator, whose page shows all accounts. */
  readonly accountId: number | undefined
  readonly writer: StreamWriter
}

/**
 * The open pages of this runner, and the events of the present second.
 *
 * The pages of one account share the text of an update, so that a hundred of them cost little more than one. Without an open page nothing is
 * collected, and no timer runs.
 */
class LivePages {
  readonly #feed: LiveFeed
  readonly #pages = new Set<LivePage>()
  readonly #waiting: Array<LiveEvent> = []
  #omitted = 0
  #unlisten: (() => void) | undefined

  constructor(feed: LiveFeed) {
    this.#feed = feed
  }

  /** True for the first page, with which the updates begin. */
  add(page: LivePage): boolean {
    this.#pages.add(page)
    if (this.#unlisten !== undefined) return false
    this.#unlisten = this.#feed.listen((event) => this.#collect(event))
    return true
  }

  /** True for the last page, with which the updates end. */
  remove(page: LivePage): boolean {
    this.#pages.delete(page)
    if (this.#pages.size > 0) return false
    this.#unlisten?.()
    this.#unlisten = undefined
    this.#waiting.length = 0
    this.#omitted = 0
    return true
  }

  #collect(event: LiveEvent): void {
    this.#waiting.push(event)
    if (this.#waiting.length <= maxWaiting) return
    this.#waiting.shift()
    this.#omitted++
  }

  update(): void {
    if (this.#waiting.length === 0) return
    const events = this.#waiting.splice(0)
    const omitted = this.#omitted
    this.#omitted = 0
    const frames = new Map<number | undefined, Frame | undefined>()
    for (const { accountId, writer } of this.#pages) {
      if (!frames.has(accountId)) frames.set(accountId, frameUpdate(events, accountId, omitted))
      const frame = frames.get(accountId)
      if (frame !== undefined && !writer.isFull) writer.write(frame)
    }
  }
}

/** Sends what happens on this runner to open pages: server-sent events of the type `live`, at most one a second. */
export const makeLiveEndpoint = Effect.gen(function*() {
  const pages = new LivePages(yield* CurrentLiveFeed)
  const registry = yield* StreamRegistry
  const memory = new StreamMemory((yield* DocumentMemory).exchanges)
  const scope = yield* Effect.scope
  const updates = Effect.sync(() => pages.update()).pipe(
    Effect.delay(updateInterval),
    Effect.repeat(Schedule.forever)
  )
  let running: Fiber.Fiber<unknown> | undefined
  const open = (page: LivePage) =>
    Effect.acquireRelease(
      Effect.gen(function*() {
        if (pages.add(page)) running = yield* Effect.forkIn(updates, scope)
      }),
      () => Effect.suspend(() => pages.remove(page) && running !== undefined ? Fiber.interrupt(running) : Effect.void)
    )

  /** `ofAll` shows all accounts; the caller has checked the right. The stream ends with `sessionId`, the session of the dashboard. */
  return Effect.fnUntraced(
    function*(
      request: HttpServerRequest.HttpServerRequest,
      caller: Caller,
      ofAll: boolean,
      sessionId: number | undefined
    ): Effect.fn.Return<Response, Refusal | HttpRejection, Scope.Scope> {
      const connection = yield* registry.admit(caller, ofAll ? "admin" : "retrieve", sessionId)
      const response = NodeHttpServerRequest.toServerResponse(request) as ServerResponse
      yield* awaitTurn(response)
      const socket = takeSocket(response, headers)
      if (socket === undefined) return HttpServerResponse.empty()
      const writer = new StreamWriter(socket, { memory, key: accountKey(caller.account.id) })
      yield* Effect.addFinalizer(() => Effect.sync(() => writer.end()))
      const ended = yield* Deferred.make<void>()
      writer.onClose = () => Deferred.doneUnsafe(ended, Effect.void)
      connection.onHeartbeat = () => {
        if (!writer.isFull) writer.write(heartbeats.events)
        writer.checkProgress()
      }
      connection.onEnd = () => Deferred.doneUnsafe(ended, Effect.void)
      writer.write(heartbeats.events)
      yield* open({ accountId: ofAll ? undefined : caller.account.id, writer })
      yield* Deferred.await(ended)
      return HttpServerResponse.empty()
    },
    Effect.scoped
  )
})

/** Collected events of a second. */
const maxWaiting = 1_000

/** No CORS: pages of other sites read no live events. */
const { "access-control-allow-origin": _, ...headers }: Record<string, string> = {
  ...Reply.streamHeaders("text/event-stream"),
  "cache-control": "no-store"
}

/** The newest events of an account as one server-sent event; undefined without any. */
const frameUpdate = (
  events: ReadonlyArray<LiveEvent>,
  accountId: number | undefined,
  omitted: number
): Frame | undefined => {
  const own = accountId === undefined
    ? events
    : events.filter((event) => event._tag === "Delivery" && event.accountId === accountId)
  if (own.length === 0) return undefined
  const shown = own.slice(-maxEvents).map((event) => liveJson(event, accountId === undefined))
  const data = JSON.stringify({ events: shown, omitted: own.length - shown.length + omitted })
  return makeFrame(`event: live\ndata: ${data}\n\n`)
}

const liveJson = (event: LiveEvent, isOfAll: boolean) => {
  const text = (value: string) => (isOfAll ? maskCredentials(value) : value).slice(0, maxTextLength).toWellFormed()
  if (event._tag === "Fetch") {
    const { at, code, failures, news, resourceId, url } = event
    return { kind: failures > 0 ? "fetch-failed" : "fetched", at, resource: resourceId, url: text(url), code, news }
  }
  const { at, attempt, code, endpoint, isDelivered, message, sequence, subscriptionId, topic } = event
  return {
    kind: isDelivered ? "delivered" : "failed",
    at,
    subscription: subscriptionId,
    topic: text(topic),
    callback: text(endpoint),
    sequence,
    attempt,
    code,
    message: text(message)
  }
}
