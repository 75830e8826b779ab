import { Deferred, Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import type { FollowStart, Hub, Representation, RetrieveRequest } from "#actors/operations/Hub.ts"
import type { Attachment, Listener } from "#actors/stream/Listeners.ts"
import type { Notification } from "#domain/delivery/Notification.ts"
import { type Refusal, refuseUnavailable } from "#domain/Refusal.ts"
import type { ApiCall } from "#http/api/Operation.ts"
import { renderRetrieved } from "#http/api/RetrieveResponse.ts"
import { readRequestedFormat } from "#http/Negotiation.ts"
import * as Cursor from "./Cursor.ts"
import type { StreamConnection } from "./StreamRegistry.ts"

/** Longest wait of a poll. Proxies commonly close a connection after 60 s without bytes. */
const pollTimeout = "55 seconds"

/** Header with the position of a response, for `lastEventId` of the next poll. */
const eventIdHeader = "x-windhover-last-event-id"

/** A retrieve that waits for future content. */
export interface FollowedRetrieve {
  readonly call: ApiCall
  readonly request: RetrieveRequest
  readonly followed: FollowStart
  readonly connection: StreamConnection
}

/**
 * Responds with the stored content, or waits for the first new content when the client has all of it.
 *
 * A client that sends the event id of the last response gets the next notification, also of an updated entry.
 */
export const poll = Effect.fnUntraced(function*(
  hub: Hub["Service"],
  { call, connection, followed: { heads, past, topics }, request }: FollowedRetrieve
) {
  const requested = yield* readRequestedFormat(call.parameters, call.accept)
  const cursors = new Map(heads)
  const isResumed = (yield* Cursor.resume(call, cursors)) === "resumed"
  const respond = (representation: Representation) =>
    Effect.map(
      renderRetrieved(representation, { ...call, ...requested }),
      HttpServerResponse.setHeader(eventIdHeader, Cursor.format(cursors))
    )
  const first = yield* respond(isResumed ? { ...withoutDocument(past), entries: [] } : past)
  if (!isResumed && first.status === 200 && (past.entries.length > 0 || past.document !== undefined)) return first
  const notification = yield* awaitNotification(hub, cursors, connection)
  if (notification === undefined) return first
  if (notification === "gap") return yield* respond(yield* hub.retrieve(request))
  if (isResumed) return yield* respond(representationOf(notification, topics))
  const current = yield* hub.retrieve(request)
  // the new entry may have a date outside of the retrieve, so the notification itself is the fallback
  const hasContent = current.entries.length > 0 || current.document !== undefined
  return yield* respond(hasContent ? current : representationOf(notification, topics))
})

/** The next notification with content; `gap` when it is stored no longer; undefined after the timeout and at shutdown. */
const awaitNotification = Effect.fnUntraced(function*(
  hub: Hub["Service"],
  cursors: Map<number, number>,
  connection: StreamConnection
) {
  const received = yield* Deferred.make<Notification | "gap" | undefined, Refusal>()
  connection.onEnd = () => Deferred.doneUnsafe(received, Effect.undefined)
  const listener: Listener = {
    cursors,
    take: ({ notification }) => {
      if (notification.news._tag === "Failure") return true // a failure has no content
      Deferred.doneUnsafe(received, Effect.succeed(notification))
      return false
    },
    missed: () => Deferred.doneUnsafe(received, Effect.succeed("gap")),
    fail: () => Deferred.doneUnsafe(received, Effect.fail(notificationsUnreadable))
  }
  let attached: Attachment | undefined
  return yield* hub.attach(listener, (attachment) => attached = attachment).pipe(
    Effect.andThen(Deferred.await(received)),
    Effect.timeoutOrElse({ duration: pollTimeout, orElse: () => Effect.undefined }),
    Effect.ensuring(Effect.sync(() => attached?.detach()))
  )
})

const notificationsUnreadable = refuseUnavailable(
  "New notifications cannot be read for the moment. Please try again.",
  5
)

const withoutDocument = ({ document: _, ...others }: Representation): Representation => others

const representationOf = (
  { header, news, resourceId, status }: Notification,
  topics: ReadonlyMap<number, string>
): Representation => ({
  status: { ...status, feed: topics.get(resourceId) ?? "" },
  ...(header !== undefined && { header }),
  entries: news._tag === "Entries" ? news.entries : [],
  ...(news._tag === "Document" && { document: news.document })
})
