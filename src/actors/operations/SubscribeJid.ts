import { Effect } from "effect"
import { statusOf } from "#domain/poll/Resource.ts"
import type { NewSubscription } from "#domain/ports/SubscriptionStore.ts"
import type { Refusal } from "#domain/Refusal.ts"
import * as Topic from "#domain/Topic.ts"
import { makeCheckAddress } from "./CheckAddress.ts"
import { makeCheckFragment } from "./CheckFragment.ts"
import { makeFeedDiscovery } from "./FeedDiscovery.ts"
import type { JidSubscribeRequest } from "./Hub.ts"
import { makeRefreshBeforeSubscribe } from "./RefreshBeforeSubscribe.ts"
import { makeBackground, makeSubscriptionWriter } from "./SubscriptionWriter.ts"

/** `Hub.subscribeJid`: subscribes one JID to several resources; a refusal of one undoes the new ones before it. */
export const makeSubscribeJid = Effect.gen(function*() {
  const checkAddress = yield* makeCheckAddress
  const checkFragment = yield* makeCheckFragment
  const discovery = yield* makeFeedDiscovery
  const refresh = yield* makeRefreshBeforeSubscribe
  const writer = yield* makeSubscriptionWriter(yield* makeBackground)

  const parse = Effect.fnUntraced(function*(
    { caller, jid }: JidSubscribeRequest,
    { format, topic: given }: JidSubscribeRequest["resources"][number]
  ): Effect.fn.Return<NewSubscription, Refusal> {
    const topic = yield* Effect.fromResult(Topic.parse(given, "node"))
    yield* checkAddress(topic.canonical, "node")
    yield* checkFragment(topic, "node")
    const subscription: NewSubscription = {
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
    yield* discovery.refuseNode(subscription)
    return subscription
  })

  return Effect.fn("Hub.subscribeJid")(function*(request: JidSubscribeRequest) {
    const wanted = yield* Effect.forEach(request.resources, (resource) => parse(request, resource))
    yield* Effect.forEach(wanted, refresh, { concurrency: "unbounded", discard: true })
    const undo: Array<Effect.Effect<void>> = []
    const saveOne = (one: NewSubscription) =>
      Effect.map(writer.save(one), ({ created, resource, subscription }) => {
        if (created) undo.push(Effect.ignore(writer.remove(subscription, one.partition)))
        return statusOf(resource, subscription.topic)
      })
    return yield* Effect.forEach(wanted, (one) => Effect.uninterruptible(saveOne(one))).pipe(
      Effect.onError(() => Effect.all(undo, { discard: true }))
    )
  })
})
