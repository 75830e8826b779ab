import { Clock, Effect, Option } from "effect"
import { feedsOf } from "#domain/poll/HubLinks.ts"
import { isEvents } from "#domain/EventsTopic.ts"
import { anonymous } from "#domain/Account.ts"
import { fragmentOf } from "#domain/poll/Fragment.ts"
import { nullDevice } from "#domain/OwnAddress.ts"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { type NewSubscription, SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import { badParameter } from "#domain/Refusal.ts"
import { quote } from "#domain/Topic.ts"
import type { SubscribeRequest } from "./Hub.ts"
import { refuseStoreErrors } from "./StoreRefusal.ts"
import { Partitions } from "#actors/cluster/Partitions.ts"

/** Lease of the subscription that stands for a fetch before the response, in ms. */
const fetchLeaseMs = 60_000

/** Feeds that a refusal names, at most. */
const maxNamedFeeds = 5

/** Paths and queries of feeds. An import of thousands of feeds does not wait for each fetch. */
const feedPath = /feed|rss|atom|xml|rdf|json/i

/** Hosts that serve only feeds. A name inside of a longer host name proves less. */
const feedHost = /^(?:feeds?|rss|atom|rdf|xml)\./

const looksLikeFeed = (canonical: string): boolean => {
  const { hostname, pathname, search } = new URL(canonical)
  return feedHost.test(hostname) || feedPath.test(pathname + search)
}

/**
 * Finds the feeds that a page advertises.
 *
 * A page with an earlier fetch is known. Another page is fetched first when the subscriber waits anyway, asks for the feed, or the URL looks
 * like a page. Topics with a fragment, and requests with `hub.discover=false`, are never refused.
 */
export const makeFeedDiscovery = Effect.gen(function*() {
  const resources = yield* ResourceStore
  const isUndecided = yield* makeIsUndecided
  const fetchFeeds = yield* makeFetchFeeds

  /** False also for a subscriber of the page itself, because that subscriber has decided. */
  const applies = Effect.fnUntraced(function*(request: SubscribeRequest, wanted: NewSubscription) {
    return request.discover !== false && (yield* isUndecided(wanted))
  })

  const loadFeeds = (id: number) => loadFeedsOf(resources, id)

  const isWorthWaiting = ({ discover, retrieve, verify }: SubscribeRequest, { topic }: NewSubscription): boolean =>
    retrieve || verify === "sync" || discover === true || !looksLikeFeed(topic.canonical)

  /** The feeds before a subscription exists. An asynchronous request waits here, because its response names the feed or refuses the page. */
  const findFeeds = Effect.fnUntraced(function*(request: SubscribeRequest, wanted: NewSubscription) {
    const resource = Option.getOrUndefined(yield* refuseStoreErrors(resources.find(wanted.topic.canonical)))
    if (resource?.lastFetch !== undefined) return feedsOf(resource)
    return request.verify === "async" && isWorthWaiting(request, wanted) ? yield* fetchFeeds(wanted) : []
  })

  /** The first feed with `hub.discover=true`, otherwise a refusal. */
  const chooseFeed = ({ discover, topic }: SubscribeRequest, feeds: ReadonlyArray<string>) =>
    discover === true && feeds[0] !== undefined ? Effect.succeed(feeds[0]) : refusePage(topic, feeds)

  /** XMPP has no parameter that decides, and waits for no fetch: a known page is refused, and a fragment selects the page itself. */
  const refuseNode = Effect.fnUntraced(function*(wanted: NewSubscription) {
    if (!(yield* isUndecided(wanted))) return
    const resource = Option.getOrUndefined(yield* refuseStoreErrors(resources.find(wanted.topic.canonical)))
    const feeds = resource === undefined ? [] : feedsOf(resource)
    if (feeds.length === 0) return
    const choice = "subscribe to one of them, or add the fragment #html to the node to watch the page itself"
    return yield* badParameter(
      "node",
      `Please provide a node that is a feed. ${describePage(wanted.topic.given, feeds)}: ${choice}.`
    )
  })

  return { applies, chooseFeed, findFeeds, isWorthWaiting, loadFeeds, refuseNode }
})

/** True for the URL of a topic without fragment that the subscriber has not subscribed to yet. */
const makeIsUndecided = Effect.map(
  SubscriptionStore,
  (subscriptions) =>
    Effect.fnUntraced(function*(wanted: NewSubscription) {
      const { canonical } = wanted.topic
      return fragmentOf(canonical) === undefined && !isEvents(canonical) &&
        Option.isNone(yield* refuseStoreErrors(subscriptions.find(wanted)))
    })
)

/** Fetches a page before its subscription. A fetch needs a row: a pending anonymous subscription creates one, and both are removed after the fetch. */
const makeFetchFeeds = Effect.gen(function*() {
  const resources = yield* ResourceStore
  const subscriptions = yield* SubscriptionStore
  const partitions = yield* Partitions
  const { baseUrl } = yield* Settings
  return Effect.fnUntraced(function*(wanted: NewSubscription) {
    const { resource, subscription } = yield* refuseStoreErrors(subscriptions.subscribe({
      accountId: anonymous.account.id,
      topic: wanted.topic,
      partition: wanted.partition,
      ...(wanted.periodSeconds === undefined ? {} : { periodSeconds: wanted.periodSeconds }),
      channel: "null",
      endpoint: nullDevice(baseUrl),
      host: new URL(baseUrl).hostname,
      face: "hub",
      state: "pending",
      leaseUntil: (yield* Clock.currentTimeMillis) + fetchLeaseMs
    }))
    return yield* partitions.firstFetch(wanted.partition, resource.id).pipe(
      Effect.andThen(loadFeedsOf(resources, resource.id)),
      Effect.ensuring(Effect.ignore(subscriptions.removePending(subscription.id)))
    )
  })
})

const loadFeedsOf = (resources: ResourceStore["Service"], id: number) =>
  Effect.map(refuseStoreErrors(resources.load(id)), Option.match({ onNone: () => [], onSome: feedsOf }))

const refusePage = (topic: string, feeds: ReadonlyArray<string>) =>
  Effect.fail(
    badParameter(
      "hub.topic",
      `Please provide a valid hub.topic (feed) URL that is accepted on this hub. ${
        describePage(topic, feeds)
      }: subscribe to one of them, send hub.discover=true to have the first, or hub.discover=false to watch the page itself.`
    )
  )

const describePage = (topic: string, feeds: ReadonlyArray<string>): string =>
  `${quote(topic)} is an HTML page that advertises ${feeds.length === 1 ? "the feed" : "the feeds"} ${
    feeds.slice(0, maxNamedFeeds).join(", ")
  }`
