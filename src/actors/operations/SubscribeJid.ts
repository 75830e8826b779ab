import { Clock, Effect, Option } from "effect"
import type { Caller } from "#domain/Account.ts"
import { KeyedCounter } from "#domain/collections/KeyedCounter.ts"
import { firstPeriod } from "#domain/poll/PollingInterval.ts"
import { type ResourceProfile, type ResourceState, statusOf } from "#domain/poll/Resource.ts"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import { Settings } from "#domain/ports/Settings.ts"
import type { NewSubscription } from "#domain/ports/SubscriptionStore.ts"
import type { Refusal } from "#domain/Refusal.ts"
import * as Topic from "#domain/Topic.ts"
import { Partitions } from "#actors/cluster/Partitions.ts"
import { makeAccountSubscriptions, maximumOf } from "./AccountSubscriptions.ts"
import { makeCheckAddress } from "./CheckAddress.ts"
import { makeCheckFragment } from "./CheckFragment.ts"
import { makeFeedDiscovery } from "./FeedDiscovery.ts"
import type { JidSubscribeRequest } from "./Hub.ts"
import { makeParseTopic } from "./ParseTopic.ts"
import { makeRefreshBeforeSubscribe } from "./RefreshBeforeSubscribe.ts"
import { makeBackground, makeSubscriptionWriter } from "./SubscriptionWriter.ts"

/** `Hub.subscribeJid`: subscribes one JID to several resources; a refusal of one undoes the new ones before it. */
export const makeSubscribeJid = Effect.gen(function*() {
  const parseTopic = yield* makeParseTopic
  const checkAddress = yield* makeCheckAddress
  const checkFragment = yield* makeCheckFragment
  const discovery = yield* makeFeedDiscovery
  const refresh = yield* makeRefreshBeforeSubscribe
  const readFirst = yield* makeReadFirst
  const { minPeriodSeconds } = yield* Settings
  const writer = yield* makeSubscriptionWriter(yield* makeBackground)
  const { checkRoom } = yield* makeAccountSubscriptions

  const parse = Effect.fnUntraced(function*(
    { caller, jid }: JidSubscribeRequest,
    { format, topic: given }: JidSubscribeRequest["resources"][number]
  ): Effect.fn.Return<NewSubscription, Refusal> {
    const topic = yield* parseTopic(given, caller, "node")
    yield* checkAddress(topic.canonical, "node")
    yield* checkFragment(topic, "node")
    const subscription: NewSubscription = {
      accountId: caller.account.id,
      ...maximumOf(caller),
      topic,
      partition: Topic.partitionOf(topic.host),
      periodSeconds: firstPeriod(topic.canonical, minPeriodSeconds),
      channel: "xmpp",
      endpoint: jid.bare,
      host: jid.domain,
      ...(format === undefined ? {} : { format }),
      face: "api",
      state: "active"
    }
    yield* discovery.refuseNode(subscription)
    return subscription
  })

  return Effect.fn("Hub.subscribeJid")(function*(request: JidSubscribeRequest) {
    const startedAt = yield* Clock.currentTimeMillis
    const wanted = yield* Effect.forEach(request.resources, (resource) => parse(request, resource))
    yield* checkRoom(request.caller, wanted)
    yield* Effect.forEach(wanted, refresh, { concurrency: "unbounded", discard: true })
    const undo: Array<Effect.Effect<void>> = []
    const saveOne = (one: NewSubscription) =>
      Effect.tap(writer.save(one), ({ created, subscription }) => {
        if (created) undo.push(Effect.ignore(writer.discard(subscription, one.partition)))
        return Effect.void
      })
    const saved = yield* Effect.forEach(wanted, (one) => Effect.uninterruptible(saveOne(one))).pipe(
      Effect.onError(() => Effect.all(undo, { discard: true }))
    )
    const waitMs = request.awaitFirstStatus === true
      ? startedAt + maxStatusWaitMs - (yield* Clock.currentTimeMillis)
      : 0
    return yield* Effect.forEach(saved, ({ resource, subscription }) =>
      Effect.map(
        resource.lastFetch === undefined && waitMs > 0
          ? readFirst(resource, request.caller, waitMs)
          : Effect.succeed(resource),
        (current) => statusOf(current, subscription.topic)
      ), { concurrency: "unbounded" })
  })
})

/** Time of a request after which its answer does not wait for fetches, in ms. Some clients give up after 5 s. */
const maxStatusWaitMs = 4_000

/** Maximum of resources whose first fetch is awaited: of all accounts, and of one account. Further requests get their answer at once. */
const maxAwaited = 200
const maxAwaitedPerAccount = 20

/** Makes the function that waits for the first fetch of a resource, and reads its new state. Never fails: a status refuses no subscription. */
const makeReadFirst = Effect.gen(function*() {
  const partitions = yield* Partitions
  const resources = yield* ResourceStore
  const awaited = new KeyedCounter<number>({ maxTotal: maxAwaited, maxPerKey: maxAwaitedPerAccount })

  return Effect.fnUntraced(function*(resource: ResourceState, { account }: Caller, waitMs: number) {
    if (!awaited.tryAdd(account.id)) return resource
    return yield* partitions.firstFetch(resource.partition, resource.id).pipe(
      Effect.timeoutOption(waitMs),
      Effect.andThen(resources.load(resource.id)),
      Effect.map(Option.getOrElse((): ResourceProfile => resource)),
      Effect.orElseSucceed(() => resource),
      Effect.ensuring(Effect.sync(() => awaited.remove(account.id)))
    )
  })
})
