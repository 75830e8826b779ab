import { Effect, Option } from "effect"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import { SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import { badParameter } from "#domain/Refusal.ts"
import { matchAll, type Search } from "#domain/Search.ts"
import * as Topic from "#domain/Topic.ts"
import { maxRetrievedFeeds, type Representation, type RetrieveRequest } from "./Hub.ts"
import { makeRepresentations, refuseNotSubscribed } from "./Representations.ts"
import { refuseStoreErrors } from "./StoreRefusal.ts"

/** `Hub.retrieve`: the stored representation of one topic, or of all feeds of a callback or search. */
export const makeRetrieve = Effect.gen(function*() {
  const resources = yield* ResourceStore
  const subscriptions = yield* SubscriptionStore
  const { readEntries, readResource } = yield* makeRepresentations

  const retrieveTopic = Effect.fnUntraced(function*(request: RetrieveRequest, given: string) {
    const topic = yield* Effect.fromResult(Topic.parse(given))
    const found = yield* refuseStoreErrors(resources.findSubscribed(request.caller.account.id, topic.canonical))
    if (Option.isNone(found)) {
      return yield* refuseNotSubscribed(
        `Please, make sure you are subscribed to that feed: no subscription to ${Topic.quote(given)}.`
      )
    }
    return yield* readResource(found.value.resource, found.value.format, given, request)
  })

  /** `description` names the search in the sentence of a refusal. */
  const retrieveFeeds = Effect.fnUntraced(function*(request: RetrieveRequest, search: Search, description: string) {
    const feeds = yield* refuseStoreErrors(
      subscriptions.feeds(request.caller.account.id, search, maxRetrievedFeeds + 1)
    )
    const [first] = feeds
    if (first === undefined) return yield* refuseNotSubscribed(`You have no subscription with ${description}.`)
    if (feeds.length > maxRetrievedFeeds) {
      return yield* badParameter(
        "hub.callback",
        `hub.callback matches ${maxRetrievedFeeds + 1} feeds or more; fewer than ${
          maxRetrievedFeeds + 1
        } can be retrieved together. Name a hub.topic.`
      )
    }
    if (feeds.length === 1) {
      const resource = yield* refuseStoreErrors(resources.load(first.resourceId))
      if (Option.isSome(resource)) return yield* readResource(resource.value, first.format, first.topic, request)
    }
    return {
      status: { feed: request.callback ?? "" },
      entries: yield* readEntries(request, feeds.map(({ resourceId }) => resourceId)),
      ...(first.format === undefined ? {} : { format: first.format })
    } satisfies Representation
  })

  return Effect.fn("Hub.retrieve")(function*(request: RetrieveRequest) {
    const { callback, search, topic } = request
    if (topic !== undefined) return yield* retrieveTopic(request, topic)
    if (search !== undefined) return yield* retrieveFeeds(request, search, "what hub.callback asks for")
    if (callback !== undefined) {
      const ofCallback = { ...matchAll, endpointUrl: callback }
      return yield* retrieveFeeds(request, ofCallback, `the callback ${Topic.quote(callback)}`)
    }
    return yield* badParameter(
      "hub.topic",
      "Please provide a hub.topic (or a hub.callback) to retrieve the entries of."
    )
  })
})
