import { Clock, Effect, Layer, Option } from "effect"
import * as Callback from "#domain/Callback.ts"
import * as Lease from "#domain/websub/Lease.ts"
import { isNullDevice, isOwn, nullLease } from "#domain/OwnAddress.ts"
import { EntryStore } from "#domain/ports/EntryStore.ts"
import { IntentVerifier } from "#domain/ports/IntentVerifier.ts"
import { type Verification, VerificationQueue } from "#domain/ports/VerificationQueue.ts"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { type NewSubscription, type SubscriptionItem, SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import { badParameter, NotSubscribed, NotVerified, type Refusal, refuse, Throttled } from "#domain/Refusal.ts"
import { type ResourceProfile, statusOf } from "#domain/poll/Resource.ts"
import { matchAll, type Search } from "#domain/Search.ts"
import type { Format, Subscription } from "#domain/Subscription.ts"
import * as Topic from "#domain/Topic.ts"
import {
  Hub,
  type JidSubscribeRequest,
  type ListedSubscription,
  type Representation,
  type RetrieveRequest,
  type SubscribeOutcome,
  type SubscribeRequest,
  tooManyFeeds,
  type UnsubscribeRequest
} from "./Hub.ts"
import { makeRefreshBeforeSubscribe } from "./RefreshBeforeSubscribe.ts"
import { makeBounces } from "./Bounces.ts"
import { makeFeedDiscovery } from "./FeedDiscovery.ts"
import { makeFollow } from "./Follow.ts"
import { Listeners } from "./Listeners.ts"
import { makeCheckFragment } from "./CheckFragment.ts"
import { IntentVerification } from "./IntentVerification.ts"
import { OpenHub, refuseOwnAddress } from "./OpenHub.ts"
import { refuseStoreErrors } from "./Refusing.ts"
import { Presences } from "./Presences.ts"
import { makeHubCallbacks } from "./HubCallbacks.ts"
import { makePublish } from "./Publish.ts"
import { makeReplay } from "./Replay.ts"
import { Ownership } from "#actors/cluster/Ownership.ts"
import { Partitions } from "#actors/cluster/Partitions.ts"

/** A subscription that waits for its callback's consent goes after so many ms, if its question was lost. */
const pendingFor = 86_400_000

const tokenOf = ({ verifyToken }: SubscribeRequest | UnsubscribeRequest) =>
  verifyToken === undefined ? {} : { verifyToken }

/** Only a webhook can be asked; nobody answers at the null device. */
const askedOf = ({ verify }: SubscribeRequest | UnsubscribeRequest, { channel }: Pick<Subscription, "channel">) =>
  channel === "webhook" ? verify : undefined

const tooManyQuestions = Effect.fail(
  refuse(
    new Throttled({
      message: "Too many verifications of yours wait for their callbacks. Try again later.",
      retryAfter: 60
    })
  )
)

const notSubscribed = (what: string) => refuse(new NotSubscribed({ message: what }))

export const layer = Layer.effect(
  Hub,
  Effect.gen(function*() {
    const resources = yield* ResourceStore
    const entries = yield* EntryStore
    const subscriptions = yield* SubscriptionStore
    const verifier = yield* IntentVerifier
    const checkFragment = yield* makeCheckFragment
    const discovering = yield* makeFeedDiscovery
    const catchUp = yield* makeRefreshBeforeSubscribe
    const partitions = yield* Partitions
    const ownership = yield* Ownership
    const openHub = yield* OpenHub
    const presences = yield* Presences
    const questions = yield* VerificationQueue
    const asking = yield* IntentVerification
    const { baseUrl } = yield* Settings
    const scope = yield* Effect.scope
    const background = <A>(effect: Effect.Effect<A>) => Effect.asVoid(Effect.forkIn(effect, scope))

    const verify = (
      request: SubscribeRequest | UnsubscribeRequest,
      callback: string,
      mode: "subscribe" | "unsubscribe"
    ) =>
      verifier.verify({
        mode,
        topic: request.topic,
        callback,
        leaseSeconds: mode === "subscribe" ? Lease.unlimitedLeaseSeconds : "",
        ...tokenOf(request)
      }).pipe(Effect.mapError(({ message }) => refuse(new NotVerified({ message }))))

    const wantedBy = Effect.fnUntraced(
      function*(request: SubscribeRequest): Effect.fn.Return<NewSubscription, Refusal> {
        const topic = yield* Effect.fromResult(Topic.parse(request.topic))
        yield* checkFragment(topic)
        const callback = yield* Effect.fromResult(Callback.parse(request.callback))
        const channel = isNullDevice(callback.given, baseUrl) ? "null" : "webhook"
        const lease = channel === "null" ? nullLease(callback.given) : undefined
        if (channel === "webhook" && isOwn(callback.given, baseUrl)) return yield* refuseOwnAddress(callback.given)
        return {
          accountId: request.caller.account.id,
          topic,
          partition: Topic.partitionOf(topic.host),
          channel,
          endpoint: callback.given,
          host: callback.host,
          ...(request.format === undefined ? {} : { format: request.format }),
          ...(request.feedsOnly === true && { feedsOnly: true }),
          ...(request.secret === undefined ? {} : { secret: request.secret }),
          face: request.face,
          state: "active",
          ...(lease !== undefined && { leaseUntil: (yield* Clock.currentTimeMillis) + lease * 1000 })
        }
      }
    )

    /** Not to be interrupted by a caller who leaves: a row that nobody is told of is not polled before the next start. */
    const store = Effect.fnUntraced(function*(wanted: NewSubscription) {
      const stored = yield* refuseStoreErrors(subscriptions.subscribe(wanted))
      yield* background(partitions.reloadResource(wanted.partition, stored.resource.id))
      if (!stored.created) yield* background(partitions.reloadSubscription(wanted.partition, stored.subscription.id))
      return stored
    }, Effect.uninterruptible)

    /** Asked after the answer, by whichever runner comes to it: the row is there before it is given. */
    const askLater = Effect.fnUntraced(function*(question: Verification) {
      const added = yield* refuseStoreErrors(questions.add(question, "accounts"))
      if (added !== "added") return yield* tooManyQuestions
      yield* asking.wake
      return "pending" as const
    })

    /** A subscription that stands already keeps its state until the new one is verified. */
    const subscribeLater = Effect.fnUntraced(function*(request: SubscribeRequest, wanted: NewSubscription) {
      const question = {
        mode: "subscribe" as const,
        subscription: wanted,
        leaseSeconds: Lease.unlimitedLeaseSeconds,
        ...tokenOf(request)
      }
      if (Option.isSome(yield* refuseStoreErrors(subscriptions.find(wanted)))) return yield* askLater(question)
      const leaseUntil = (yield* Clock.currentTimeMillis) + pendingFor
      const { subscription } = yield* refuseStoreErrors(
        subscriptions.subscribe({ ...wanted, state: "pending", leaseUntil })
      )
      return yield* askLater(question).pipe(
        Effect.tapError(() => Effect.ignore(subscriptions.removePending(subscription.id)))
      )
    })

    /** Nor is this: what is in memory would be sent, and the resource polled, for nobody. */
    const removed = Effect.fnUntraced(function*({ id, resourceId }: Subscription, partition: number) {
      yield* refuseStoreErrors(subscriptions.remove(id))
      yield* partitions.forget(partition, id)
      yield* background(partitions.reloadResource(partition, resourceId))
    }, Effect.uninterruptible)

    /** `judged`: a page that turns out to advertise feeds is not subscribed to. */
    const subscribeTo = Effect.fnUntraced(
      function*(
        request: SubscribeRequest,
        wanted: NewSubscription,
        judged: boolean
      ): Effect.fn.Return<SubscribeOutcome, Refusal> {
        const asked = askedOf(request, wanted)
        if (asked === "async") return { outcome: yield* subscribeLater(request, wanted) }
        if (asked === "sync") yield* verify(request, wanted.endpoint, "subscribe")
        yield* catchUp(wanted)
        const { created, resource, subscription } = yield* store(wanted)
        const judging = judged && discovering.isWorthWaiting(request, wanted)
        if (resource.lastFetch === undefined && (request.retrieve || judging)) {
          yield* partitions.firstFetch(wanted.partition, resource.id).pipe(
            Effect.tapError(() => created ? Effect.ignore(removed(subscription, wanted.partition)) : Effect.void)
          )
          const feeds = judging ? yield* discovering.stored(resource.id) : []
          if (feeds.length > 0) {
            yield* removed(subscription, wanted.partition)
            return yield* subscribeInstead(request, feeds)
          }
        }
        return request.retrieve
          ? { outcome: "done", representation: yield* representation(subscription, request.topic, 10) }
          : { outcome: "done" }
      }
    )

    const subscribeInstead = Effect.fnUntraced(
      function*(request: SubscribeRequest, feeds: ReadonlyArray<string>): Effect.fn.Return<SubscribeOutcome, Refusal> {
        const discovered = yield* discovering.first(request, feeds)
        const instead: SubscribeRequest = { ...request, topic: discovered }
        return { ...(yield* subscribeTo(instead, yield* wantedBy(instead), false)), discovered }
      }
    )

    const subscribe = Effect.fn("Hub.subscribe")(
      function*(request: SubscribeRequest): Effect.fn.Return<SubscribeOutcome, Refusal> {
        if (request.face === "hub") return { outcome: yield* openHub.subscribe(request) }
        const wanted = yield* wantedBy(request)
        const judged = yield* discovering.applies(request, wanted)
        const feeds = judged ? yield* discovering.known(request, wanted) : []
        return feeds.length > 0
          ? yield* subscribeInstead(request, feeds)
          : yield* subscribeTo(request, wanted, judged)
      }
    )

    const subscribeJid = Effect.fn("Hub.subscribeJid")(function*({ caller, jid, resources }: JidSubscribeRequest) {
      const wanted = yield* Effect.forEach(
        resources,
        Effect.fnUntraced(function*({ format, topic: given }): Effect.fn.Return<NewSubscription, Refusal> {
          const topic = yield* Effect.fromResult(Topic.parse(given, "node"))
          yield* checkFragment(topic, "node")
          const one: NewSubscription = {
            accountId: caller.account.id,
            topic,
            partition: Topic.partitionOf(topic.host),
            channel: "xmpp",
            endpoint: jid.bare,
            host: jid.domain,
            ...(format === undefined ? {} : { format }),
            face: "api",
            state: "active"
          }
          yield* discovering.refuseNode(one)
          return one
        })
      )
      yield* Effect.forEach(wanted, catchUp, { concurrency: "unbounded", discard: true })
      const made: Array<Effect.Effect<void>> = []
      const storeOne = (one: NewSubscription) =>
        Effect.map(store(one), ({ created, resource, subscription }) => {
          if (created) made.push(Effect.ignore(removed(subscription, one.partition)))
          return statusOf(resource, subscription.topic)
        })
      return yield* Effect.forEach(wanted, (one) => Effect.uninterruptible(storeOne(one))).pipe(
        Effect.onError(() => Effect.all(made, { discard: true }))
      )
    })

    const unsubscribed = Effect.fnUntraced(function*(request: UnsubscribeRequest) {
      const topic = yield* Effect.fromResult(Topic.parse(request.topic))
      const mine = (yield* refuseStoreErrors(subscriptions.findByTopic(request.caller.account.id, topic.canonical)))
        .filter((
          { face }
        ) => face === request.face)
      return { topic, subscription: yield* chosen(request, mine) }
    })

    const unsubscribe = Effect.fn("Hub.unsubscribe")(function*(request: UnsubscribeRequest) {
      if (request.face === "hub") return yield* openHub.unsubscribe(request)
      const { subscription, topic } = yield* unsubscribed(request)
      const partition = Topic.partitionOf(topic.host)
      const remove = removed(subscription, partition)
      const asked = askedOf(request, subscription)
      if (asked === "async") {
        const wanted: NewSubscription = { ...subscription, topic, partition }
        return yield* askLater({ mode: "unsubscribe", subscription: wanted, ...tokenOf(request) })
      }
      if (asked === "sync") yield* verify(request, subscription.endpoint, "unsubscribe")
      yield* remove
      return "done" as const
    })

    const page = Effect.fnUntraced(
      function*(request: Omit<RetrieveRequest, "caller">, resourceIds: ReadonlyArray<number>) {
        const found = yield* refuseStoreErrors(entries.page({
          resourceIds,
          count: request.count,
          ...(request.before === undefined ? {} : { before: request.before }),
          ...(request.after === undefined ? {} : { after: request.after })
        }))
        if (found._tag === "Page") return found.entries.map(({ entry }) => entry)
        return yield* badParameter(
          found.parameter,
          `${found.parameter} names no entry that is stored here: received ${
            Topic.quote(found.id)
          }; the id of an entry of this feed is needed.`
        )
      }
    )

    const represented = Effect.fnUntraced(function*(
      resource: ResourceProfile,
      format: Format | undefined,
      topic: string,
      request: Omit<RetrieveRequest, "caller">
    ) {
      const document = resource.kind === "feed"
        ? Option.none()
        : yield* refuseStoreErrors(entries.document(resource.id))
      return {
        status: statusOf(resource, topic),
        ...(resource.header === undefined ? {} : { header: resource.header }),
        entries: yield* page(request, [resource.id]),
        ...(Option.isNone(document) ? {} : { document: document.value }),
        ...(format === undefined ? {} : { format })
      } satisfies Representation
    })

    const representation = Effect.fnUntraced(function*(subscription: Subscription, topic: string, count: number) {
      const resource = yield* refuseStoreErrors(resources.load(subscription.resourceId))
      if (Option.isNone(resource)) {
        return yield* notSubscribed(`There is no subscription to ${Topic.quote(topic)} any more.`)
      }
      return yield* represented(resource.value, subscription.format, topic, { count })
    })

    const retrieveTopic = Effect.fnUntraced(function*(request: RetrieveRequest, given: string) {
      const topic = yield* Effect.fromResult(Topic.parse(given))
      const seen = yield* refuseStoreErrors(resources.findSubscribed(request.caller.account.id, topic.canonical))
      if (Option.isNone(seen)) {
        return yield* notSubscribed(
          `Please, make sure you are subscribed to that feed: no subscription to ${Topic.quote(given)}.`
        )
      }
      return yield* represented(seen.value.resource, seen.value.format, given, request)
    })

    const retrieveFound = Effect.fnUntraced(function*(request: RetrieveRequest, search: Search, shown: string) {
      const mine = yield* refuseStoreErrors(subscriptions.feeds(request.caller.account.id, search, tooManyFeeds))
      const [first] = mine
      if (first === undefined) return yield* notSubscribed(`You have no subscription with ${shown}.`)
      if (mine.length >= tooManyFeeds) {
        return yield* badParameter(
          "hub.callback",
          `hub.callback matches ${tooManyFeeds} feeds or more; fewer than ${tooManyFeeds} can be retrieved together. Name a hub.topic.`
        )
      }
      if (mine.length === 1) {
        const resource = yield* refuseStoreErrors(resources.load(first.resourceId))
        if (Option.isSome(resource)) return yield* represented(resource.value, first.format, first.topic, request)
      }
      return {
        status: { feed: request.callback ?? "" },
        entries: yield* page(request, mine.map(({ resourceId }) => resourceId)),
        ...(first.format === undefined ? {} : { format: first.format })
      } satisfies Representation
    })

    const retrieve = Effect.fn("Hub.retrieve")(function*(request: RetrieveRequest) {
      if (request.topic !== undefined) return yield* retrieveTopic(request, request.topic)
      const { callback, search } = request
      if (search !== undefined) return yield* retrieveFound(request, search, "what hub.callback asks for")
      if (callback !== undefined) {
        return yield* retrieveFound(
          request,
          { ...matchAll, endpointUrl: callback },
          `the callback ${Topic.quote(callback)}`
        )
      }
      return yield* badParameter(
        "hub.topic",
        "Please provide a hub.topic (or a hub.callback) to retrieve the entries of."
      )
    })

    const withPresence = Effect.fnUntraced(function*(items: ReadonlyArray<SubscriptionItem>) {
      const jids = items.flatMap(({ subscription: { channel, endpoint } }) => channel === "xmpp" ? [endpoint] : [])
      if (jids.length === 0) return items
      const known = (yield* presences.of(jids)).values()
      return items.map((item): ListedSubscription =>
        item.subscription.channel === "xmpp" ? { ...item, presence: known.next().value ?? "unknown" } : item
      )
    })

    return Hub.of({
      subscribe,
      subscribeJid,
      unsubscribe,
      list: Effect.fn("Hub.list")(function*({ caller, presence = false, ...query }) {
        const listed = yield* refuseStoreErrors(subscriptions.list({ accountId: caller.account.id, ...query }))
        return presence ? { ...listed, items: yield* withPresence(listed.items) } : listed
      }),
      retrieve,
      replay: yield* makeReplay,
      follow: yield* makeFollow(retrieve),
      listen: (yield* Listeners).listen,
      publish: yield* makePublish,
      ...(yield* makeBounces),
      ...(yield* makeHubCallbacks),
      ready: ownership.ready
    })
  })
)

/** The subscription that an unsubscribe means: the one of its callback, or the only one. */
const chosen = (
  request: UnsubscribeRequest,
  mine: ReadonlyArray<Subscription>
): Effect.Effect<Subscription, Refusal> => {
  const { callback, topic, verify } = request
  if (callback !== undefined) {
    const found = mine.find(({ endpoint }) => endpoint === callback)
    return found !== undefined ? Effect.succeed(found) : Effect.fail(
      badParameter(
        "hub.callback",
        `You are not subscribed to ${Topic.quote(topic)} with the callback ${
          Topic.quote(callback)
        }: there is nothing to unsubscribe.`
      )
    )
  }
  const [only, another] = mine
  if (only === undefined) {
    return Effect.fail(
      badParameter("hub.topic", `You are not subscribed to ${Topic.quote(topic)}: there is nothing to unsubscribe.`)
    )
  }
  if (another === undefined && verify === undefined) return Effect.succeed(only)
  return Effect.fail(
    badParameter(
      "hub.callback",
      verify === undefined
        ? `You have ${mine.length} subscriptions to ${
          Topic.quote(topic)
        }: please provide the hub.callback of the one to end.`
        : "Please provide a hub.callback: it is needed with hub.verify."
    )
  )
}
