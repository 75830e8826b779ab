import { Effect } from "effect"
import type { NewSubscription } from "#domain/ports/SubscriptionStore.ts"
import type { Refusal } from "#domain/Refusal.ts"
import { Partitions } from "#actors/cluster/Partitions.ts"
import { makeAccountSubscriptions } from "./AccountSubscriptions.ts"
import { makeApiVerification, requestedVerification } from "./ApiVerification.ts"
import { makeFeedDiscovery } from "./FeedDiscovery.ts"
import type { SubscribeOutcome, SubscribeRequest } from "./Hub.ts"
import { OpenHub } from "./OpenHub.ts"
import { makeParseSubscription } from "./ParseSubscription.ts"
import { makeRecordDenied } from "./RecordDenial.ts"
import { makeRefreshBeforeSubscribe } from "./RefreshBeforeSubscribe.ts"
import { makeRepresentations } from "./Representations.ts"
import { makeBackground, makeSubscriptionWriter } from "./SubscriptionWriter.ts"

/** Entries of the representation that a subscribe with `retrieve` returns, at most. */
const retrievedEntries = 10

/** `Hub.subscribe`: checks the request, verifies the callback, stores the subscription, and fetches the resource where the caller waits. */
export const makeSubscribe = Effect.gen(function*() {
  const openHub = yield* OpenHub
  const partitions = yield* Partitions
  const parse = yield* makeParseSubscription
  const discovery = yield* makeFeedDiscovery
  const verification = yield* makeApiVerification
  const recordDenied = yield* makeRecordDenied
  const refresh = yield* makeRefreshBeforeSubscribe
  const writer = yield* makeSubscriptionWriter(yield* makeBackground)
  const { checkRoom } = yield* makeAccountSubscriptions
  const { readSubscribed } = yield* makeRepresentations

  /** With `mayDiscover`, a page that turns out to advertise feeds is not subscribed to. */
  const subscribeTo = Effect.fnUntraced(
    function*(
      request: SubscribeRequest,
      wanted: NewSubscription,
      mayDiscover: boolean
    ): Effect.fn.Return<SubscribeOutcome, Refusal> {
      yield* checkRoom(request.caller, [wanted])
      const requested = requestedVerification(request, wanted)
      if (requested === "async") return { outcome: yield* verification.subscribeLater(request, wanted) }
      if (requested === "sync") yield* recordDenied(wanted, verification.now(request, wanted.endpoint, "subscribe"))
      yield* refresh(wanted)
      const { created, resource, subscription } = yield* writer.save(wanted)
      const discovers = mayDiscover && discovery.isWorthWaiting(request, wanted)
      if (resource.lastFetch === undefined && (request.retrieve || discovers)) {
        yield* partitions.firstFetch(wanted.partition, resource.id).pipe(
          Effect.tapError(() => created ? Effect.ignore(writer.discard(subscription, wanted.partition)) : Effect.void)
        )
        const feeds = discovers ? yield* discovery.loadFeeds(resource.id) : []
        if (feeds.length > 0) {
          yield* writer.discard(subscription, wanted.partition)
          return yield* subscribeToFeed(request, feeds)
        }
      }
      return request.retrieve
        ? { outcome: "done", representation: yield* readSubscribed(subscription, request.topic, retrievedEntries) }
        : { outcome: "done" }
    }
  )

  const subscribeToFeed = Effect.fnUntraced(
    function*(request: SubscribeRequest, feeds: ReadonlyArray<string>): Effect.fn.Return<SubscribeOutcome, Refusal> {
      const discovered = yield* discovery.chooseFeed(request, feeds)
      const feedRequest: SubscribeRequest = { ...request, topic: discovered }
      return { ...(yield* subscribeTo(feedRequest, yield* parse(feedRequest), false)), discovered }
    }
  )

  return Effect.fn("Hub.subscribe")(
    function*(request: SubscribeRequest): Effect.fn.Return<SubscribeOutcome, Refusal> {
      if (request.face === "hub") return { outcome: yield* openHub.subscribe(request) }
      const wanted = yield* parse(request)
      const mayDiscover = yield* discovery.applies(request, wanted)
      const feeds = mayDiscover ? yield* discovery.findFeeds(request, wanted) : []
      return feeds.length > 0
        ? yield* subscribeToFeed(request, feeds)
        : yield* subscribeTo(request, wanted, mayDiscover)
    }
  )
})
