import { Clock, Effect, Option } from "effect"
import { feedsOf } from "#domain/Advertised.ts"
import { anonymous } from "#domain/Account.ts"
import { fragmentOf } from "#domain/Fragment.ts"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { type NewSubscription, SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import { badParameter, type Refusal } from "#domain/Refusal.ts"
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
 * Looks whether a topic is a page that advertises feeds; gives the first one where the subscriber wants that, and refuses otherwise.
 *
 * What was fetched before is known. What was not is fetched first when the subscriber waits anyway, asks for the feed, or the address looks
 * like that of a page. The part of a page that a fragment selects is never refused, nor is anything with `hub.discover=false`.
 */
export const makeDiscover = Effect.gen(function*() {
  const resources = yield* ResourceStore
  const subscriptions = yield* SubscriptionStore
  const partitions = yield* Partitions
  const { baseUrl } = yield* Settings

  /** Only what has a row is fetched: a subscription of nobody makes it, and goes again. */
  const fetched = Effect.fnUntraced(function*(wanted: NewSubscription) {
    const { resource, subscription } = yield* orRefuse(subscriptions.subscribe({
      accountId: anonymous.account.id,
      topic: wanted.topic,
      partition: wanted.partition,
      channel: "null",
      endpoint: `${baseUrl}/dev/null`,
      host: new URL(baseUrl).hostname,
      face: "hub",
      state: "pending",
      leaseUntil: (yield* Clock.currentTimeMillis) + pendingFor
    }))
    yield* partitions.firstFetch(wanted.partition, resource.id).pipe(
      Effect.ensuring(Effect.ignore(subscriptions.removePending(subscription.id)))
    )
    return yield* orRefuse(resources.load(resource.id))
  })

  const feedsAt = Effect.fnUntraced(function*(request: SubscribeRequest, wanted: NewSubscription) {
    const { canonical } = wanted.topic
    const known = Option.getOrUndefined(yield* orRefuse(resources.find(canonical)))
    if (known?.lastFetch !== undefined) return feedsOf(known)
    const waits = request.retrieve || request.verify === "sync" || request.discover === true
    if (!waits && likeFeed.test(canonical)) return []
    return Option.match(yield* fetched(wanted), { onNone: () => [], onSome: feedsOf })
  })

  return Effect.fn("Hub.discover")(
    function*(request: SubscribeRequest, wanted: NewSubscription): Effect.fn.Return<string | undefined, Refusal> {
      if (request.discover === false || fragmentOf(wanted.topic.canonical) !== undefined) return undefined
      // who has subscribed to the page already has decided
      if (Option.isSome(yield* orRefuse(subscriptions.find(wanted)))) return undefined
      const feeds = yield* feedsAt(request, wanted)
      return feeds.length === 0 || request.discover === true ? feeds[0] : yield* refuse(request.topic, feeds)
    }
  )
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
