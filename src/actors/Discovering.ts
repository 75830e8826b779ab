import { Clock, Effect, Option } from "effect"
import { feedsOf } from "#domain/Advertised.ts"
import { anonymous } from "#domain/Account.ts"
import { fragmentOf } from "#domain/Fragment.ts"
import { nullDevice } from "#domain/OwnAddress.ts"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { type NewSubscription, SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import { badParameter } from "#domain/Refusal.ts"
import { quote } from "#domain/Topic.ts"
import type { SubscribeRequest } from "./Hub.ts"
import { orRefuse } from "./Refusing.ts"
import { Partitions } from "./Runner.ts"

/** Somebody waits for the page no longer than so many ms. */
const pendingFor = 60_000

/** Feeds that the refusal names. */
const mostNamed = 5

/** An address that says of itself that it is a feed. Whoever imports thousands of them does not wait for each to be fetched. */
const likeFeed = /feed|rss|atom|xml|rdf|json/i

/**
 * Whether a topic is a page that advertises feeds.
 *
 * What was fetched before is known. What was not is fetched first when the subscriber waits anyway, asks for the feed, or the address looks
 * like that of a page. The part of a page that a fragment selects is never refused, nor is anything with `hub.discover=false`.
 */
export const makeDiscovering = Effect.gen(function*() {
  const resources = yield* ResourceStore
  const subscriptions = yield* SubscriptionStore
  const partitions = yield* Partitions
  const { baseUrl } = yield* Settings

  /** False as well for who has subscribed to the page already: it has decided. */
  const applies = Effect.fnUntraced(function*(request: SubscribeRequest, wanted: NewSubscription) {
    if (request.discover === false || fragmentOf(wanted.topic.canonical) !== undefined) return false
    return Option.isNone(yield* orRefuse(subscriptions.find(wanted)))
  })

  /** Only what has a row is fetched: a subscription of nobody makes it, and goes again. */
  const fetched = Effect.fnUntraced(function*(wanted: NewSubscription) {
    const { resource, subscription } = yield* orRefuse(subscriptions.subscribe({
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
    Effect.map(orRefuse(resources.load(id)), Option.match({ onNone: () => [], onSome: feedsOf }))

  /** Before there is a subscription. Who is asked later and wants the feed is waited for here, since it is answered before it is subscribed. */
  const known = Effect.fnUntraced(function*(request: SubscribeRequest, wanted: NewSubscription) {
    const resource = Option.getOrUndefined(yield* orRefuse(resources.find(wanted.topic.canonical)))
    if (resource?.lastFetch !== undefined) return feedsOf(resource)
    return request.verify === "async" && request.discover === true ? yield* fetched(wanted) : []
  })

  const isWorthWaiting = ({ discover, retrieve, verify }: SubscribeRequest, { topic }: NewSubscription): boolean =>
    retrieve || verify === "sync" || discover === true || !likeFeed.test(topic.canonical)

  /** The first feed, if that is what the subscriber wants. */
  const first = ({ discover, topic }: SubscribeRequest, feeds: ReadonlyArray<string>) =>
    discover === true && feeds[0] !== undefined ? Effect.succeed(feeds[0]) : refuse(topic, feeds)

  return { applies, first, isWorthWaiting, known, stored }
})

const refuse = (topic: string, feeds: ReadonlyArray<string>) =>
  Effect.fail(
    badParameter(
      "hub.topic",
      `Please provide a valid hub.topic (feed) URL that is accepted on this hub. ${
        quote(topic)
      } is an HTML page that advertises ${feeds.length === 1 ? "the feed" : "the feeds"} ${
        feeds.slice(0, mostNamed).join(", ")
      }: subscribe to one of them, send hub.discover=true to have the first, or hub.discover=false to watch the page itself.`
    )
  )
