import { Clock, Effect } from "effect"
import * as Callback from "#domain/Callback.ts"
import * as OwnHeaders from "#domain/delivery/OwnHeaders.ts"
import * as WebhookSecret from "#domain/delivery/WebhookSecret.ts"
import { isNullDevice, isOwn, nullLease } from "#domain/OwnAddress.ts"
import { firstPeriod } from "#domain/poll/PollingInterval.ts"
import { Settings } from "#domain/ports/Settings.ts"
import type { NewSubscription } from "#domain/ports/SubscriptionStore.ts"
import type { Refusal } from "#domain/Refusal.ts"
import * as Topic from "#domain/Topic.ts"
import { Partitions } from "#actors/cluster/Partitions.ts"
import { makeApiVerification, requestedVerification } from "./ApiVerification.ts"
import { makeCheckAddress } from "./CheckAddress.ts"
import { makeCheckFragment } from "./CheckFragment.ts"
import { makeFeedDiscovery } from "./FeedDiscovery.ts"
import type { SubscribeOutcome, SubscribeRequest } from "./Hub.ts"
import { OpenHub, refuseOwnAddress } from "./OpenHub.ts"
import { makeParseTopic } from "./ParseTopic.ts"
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
  const parse = yield* makeParse
  const discovery = yield* makeFeedDiscovery
  const verification = yield* makeApiVerification
  const recordDenied = yield* makeRecordDenied
  const refresh = yield* makeRefreshBeforeSubscribe
  const writer = yield* makeSubscriptionWriter(yield* makeBackground)
  const { readSubscribed } = yield* makeRepresentations

  /** With `mayDiscover`, a page that turns out to advertise feeds is not subscribed to. */
  const subscribeTo = Effect.fnUntraced(
    function*(
      request: SubscribeRequest,
      wanted: NewSubscription,
      mayDiscover: boolean
    ): Effect.fn.Return<SubscribeOutcome, Refusal> {
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

/** Checks topic, fragment and callback of a request of the API face, and the addresses of both. */
const makeParse = Effect.gen(function*() {
  const parseTopic = yield* makeParseTopic
  const checkAddress = yield* makeCheckAddress
  const checkFragment = yield* makeCheckFragment
  const { baseUrl, headerPrefix, minPeriodSeconds } = yield* Settings
  return Effect.fnUntraced(function*(request: SubscribeRequest): Effect.fn.Return<NewSubscription, Refusal> {
    const topic = yield* parseTopic(request.topic, request.caller)
    if (request.secret !== undefined) yield* Effect.fromResult(WebhookSecret.check(request.secret))
    const headers = request.headers && (yield* Effect.fromResult(OwnHeaders.check(request.headers, headerPrefix)))
    yield* checkFragment(topic)
    const callback = yield* Effect.fromResult(Callback.parse(request.callback))
    const channel = isNullDevice(callback.given, baseUrl) ? "null" : "webhook"
    const lease = channel === "null" ? nullLease(callback.given) : undefined
    if (channel === "webhook" && isOwn(callback.given, baseUrl)) return yield* refuseOwnAddress(callback.given)
    yield* checkAddress(topic.canonical, "hub.topic")
    if (channel === "webhook") yield* checkAddress(callback.given, "hub.callback")
    return {
      accountId: request.caller.account.id,
      topic,
      partition: Topic.partitionOf(topic.host),
      periodSeconds: firstPeriod(topic.canonical, minPeriodSeconds),
      channel,
      endpoint: callback.given,
      host: callback.host,
      ...(request.format === undefined ? {} : { format: request.format }),
      ...(request.feedsOnly === true && { feedsOnly: true }),
      ...(request.secret === undefined ? {} : { secret: request.secret }),
      ...(request.retry === undefined ? {} : { retry: request.retry }),
      ...(request.secretGraceSeconds === undefined ? {} : { secretGraceSeconds: request.secretGraceSeconds }),
      ...(headers === undefined ? {} : { headers }),
      face: request.face,
      state: "active",
      ...(lease !== undefined && { leaseUntil: (yield* Clock.currentTimeMillis) + lease * 1000 })
    }
  })
})
