import { Clock, Effect, Option } from "effect"
import { feedsOf } from "#domain/poll/HubLinks.ts"
import { anonymous } from "#domain/Account.ts"
import { fragmentOf } from "#domain/poll/Fragment.ts"
import { nullDevice } from "#domain/OwnAddress.ts"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { type NewSubscription, SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import { badParameter } from "#domain/Refusal.ts"
import { quote } from "#domain/Topic.ts"
import type { SubscribeRequest } from "./Hub.ts"
import { refuseStoreErrors } from "./Refusing.ts"
import { Partitions } from "#actors/cluster/Partitions.ts"

/** Somebody waits for the page no longer than so many ms. */
const pendingFor = 60_000

/** Feeds that the refusal names. */
const mostNamed = 5

/** An address that says of itself that it is a feed. Whoever imports thousands of them does not wait for each to be fetched. */
const likeFeed = /feed|rss|atom|xml|rdf|json/i

/** Hosts that have nothing but feeds; other hosts are only called like them. */
const hostOfFeeds = /^(?:feeds?|rss|atom|rdf|xml)\./

const isLikeFeed = (canonical: string): boolean => {
  const { hostname, pathname, search } = new URL(canonical)
  return hostOfFeeds.test(hostname) || likeFeed.test(pathname + search)
}

/**
 * Whether a topic is a page that advertises feeds.
 *
 * What was fetched before is known. What was not is fetched first when the subscriber waits anyway, asks for the feed, or the address looks
 * like that of a page. The part of a page that a fragment selects is never refused, nor is anything with `hub.discover=false`.
 */
export const makeFeedDiscovery = Effect.gen(function*() {
  const resources = yield* ResourceStore
  const subscriptions = yield* SubscriptionStore
  const partitions = yield* Partitions
  const { baseUrl } = yield* Settings

  const isUndecided = Effect.fnUntraced(function*(wanted: NewSubscription) {
    return fragmentOf(wanted.topic.canonical) === undefined &&
      Option.isNone(yield* refuseStoreErrors(subscriptions.find(wanted)))
  })

  /** False as well for who has subscribed to the page already: it has decided. */
  const applies = Effect.fnUntraced(function*(request: SubscribeRequest, wanted: NewSubscription) {
    return request.discover !== false && (yield* isUndecided(wanted))
  })

  /** Only what has a row is fetched: a subscription of nobody makes it, and goes again. */
  const fetched = Effect.fnUntraced(function*(wanted: NewSubscription) {
    const { resource, subscription } = yield* refuseStoreErrors(subscriptions.subscribe({
      accountId: anonymous.account.id,
      topic: wanted.topic,
      partition: wanted.partition,
      channel: "null",
      endpoint: nullDevice(baseUrl),
      host: new URL(baseUrl).hostname,
      face: "hub",
      state: "pending",
      leaseUntil: (yield* Clock.currentTimeMillis) + pendingFor
    }))
    yield* partitions.firstFetch(wanted.partition, resource.id).pipe(
      Effect.ensuring(Effect.ignore(subscriptions.removePending(subscription.id)))
    )
    return yield* stored(resource.id)
  })

  const stored = (id: number) =>
    Effect.map(refuseStoreErrors(resources.load(id)), Option.match({ onNone: () => [], onSome: feedsOf }))

  /** Before there is a subscription. Who is asked later and wants the feed is waited for here, since it is answered before it is subscribed. */
  const known = Effect.fnUntraced(function*(request: SubscribeRequest, wanted: NewSubscription) {
    const resource = Option.getOrUndefined(yield* refuseStoreErrors(resources.find(wanted.topic.canonical)))
    if (resource?.lastFetch !== undefined) return feedsOf(resource)
    return request.verify === "async" && request.discover === true ? yield* fetched(wanted) : []
  })

  const isWorthWaiting = ({ discover, retrieve, verify }: SubscribeRequest, { topic }: NewSubscription): boolean =>
    retrieve || verify === "sync" || discover === true || !isLikeFeed(topic.canonical)

  /** The first feed, if that is what the subscriber wants. */
  const first = ({ discover, topic }: SubscribeRequest, feeds: ReadonlyArray<string>) =>
    discover === true && feeds[0] !== undefined ? Effect.succeed(feeds[0]) : refuse(topic, feeds)

  /** Over XMPP nobody waits for a fetch, and there is no parameter that decides: what is known is refused, and a fragment has the page. */
  const refuseNode = Effect.fnUntraced(function*(wanted: NewSubscription) {
    if (!(yield* isUndecided(wanted))) return
    const resource = Option.getOrUndefined(yield* refuseStoreErrors(resources.find(wanted.topic.canonical)))
    const feeds = resource === undefined ? [] : feedsOf(resource)
    if (feeds.length === 0) return
    const choice = "subscribe to one of them, or add the fragment #html to the node to watch the page itself"
    return yield* badParameter(
      "node",
      `Please provide a node that is a feed. ${advertising(wanted.topic.given, feeds)}: ${choice}.`
    )
  })

  return { applies, first, isWorthWaiting, known, refuseNode, stored }
})

const refuse = (topic: string, feeds: ReadonlyArray<string>) =>
  Effect.fail(
    badParameter(
      "hub.topic",
      `Please provide a valid hub.topic (feed) URL that is accepted on this hub. ${
        advertising(topic, feeds)
      }: subscribe to one of them, send hub.discover=true to have the first, or hub.discover=false to watch the page itself.`
    )
  )

const advertising = (topic: string, feeds: ReadonlyArray<string>): string =>
  `${quote(topic)} is an HTML page that advertises ${feeds.length === 1 ? "the feed" : "the feeds"} ${
    feeds.slice(0, mostNamed).join(", ")
  }`
