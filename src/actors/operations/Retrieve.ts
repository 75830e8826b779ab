import { Effect, Option } from "effect"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import { SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import { badParameter } from "#domain/Refusal.ts"
import * as Search from "#domain/Search.ts"
import * as Topic from "#domain/Topic.ts"
import type { StoredEntry } from "#domain/ports/EntryStore.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { addSource } from "#domain/render/EntrySource.ts"
import type { Subscription } from "#domain/Subscription.ts"
import { Partitions } from "#actors/cluster/Partitions.ts"
import { makeAwaitDocuments } from "./AwaitDocument.ts"
import { maxRetrievedFeeds, type Representation, type RetrieveRequest } from "./Hub.ts"
import { makeMayRead, makeParseTopic, makeResolveSearch } from "./ParseTopic.ts"
import { makeRepresentations, refuseNotSubscribed } from "./Representations.ts"
import { refuseStoreErrors } from "./StoreRefusal.ts"

/** `Hub.retrieve`: the stored representation of one topic, or of all feeds of a callback or search. */
export const makeRetrieve = Effect.gen(function*() {
  const resources = yield* ResourceStore
  const subscriptions = yield* SubscriptionStore
  const partitions = yield* Partitions
  const { baseUrl } = yield* Settings
  const parseTopic = yield* makeParseTopic
  const resolveSearch = yield* makeResolveSearch
  const mayRead = yield* makeMayRead
  const awaitDocuments = yield* makeAwaitDocuments
  const addSources = yield* makeAddSources
  const { readEntries, readResource } = yield* makeRepresentations

  /** Finds the resource of a topic. Waits for the first document of a new one. */
  const findResource = Effect.fnUntraced(function*(request: RetrieveRequest, topic: Topic.Topic) {
    const { awaitDocument, caller } = request
    const find = refuseStoreErrors(
      resources.findSubscribed(caller.account.id, topic.canonical, selectsNewest(request) ? request.count : 0)
    )
    const found = yield* find
    if (Option.isNone(found) || found.value.resource.lastFetch !== undefined || awaitDocument === false) return found
    yield* Effect.ignore(partitions.firstFetch(Topic.partitionOf(topic.host), found.value.resource.id))
    return yield* find
  })

  const retrieveTopic = Effect.fnUntraced(function*(request: RetrieveRequest, given: string) {
    const topic = yield* parseTopic(given, request.caller)
    const found = yield* findResource(request, topic)
    if (Option.isNone(found)) {
      return yield* refuseNotSubscribed(
        `Please, make sure you are subscribed to that feed: no subscription to ${Topic.quote(given)}.`
      )
    }
    const { format, newest, resource } = found.value
    return yield* readResource(resource, format, given, request, selectsNewest(request) ? newest : undefined)
  })

  /** `description` names the search in the sentence of a refusal. */
  const retrieveFeeds = Effect.fnUntraced(
    function*(request: RetrieveRequest, search: Search.Search, description: string) {
      const { caller } = request
      const found = yield* refuseStoreErrors(
        subscriptions.feeds(caller.account.id, resolveSearch(search, caller), maxRetrievedFeeds + 1)
      )
      const feeds = found.filter((feed) => mayRead(caller, feed))
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
      if (request.awaitDocument !== false) yield* awaitDocuments(feeds)
      if (feeds.length === 1) {
        const resource = yield* refuseStoreErrors(resources.load(first.resourceId))
        if (Option.isSome(resource)) return yield* readResource(resource.value, first.format, first.topic, request)
      }
      const stored = yield* readEntries(request, feeds.map(({ resourceId }) => resourceId))
      const title = `Entries of ${feeds.length} feeds`
      return {
        status: { feed: urlOf(request, search, baseUrl), title },
        header: { title: { type: "text", value: title } },
        entries: yield* addSources(stored, feeds),
        ...(first.format === undefined ? {} : { format: first.format }),
        isCombined: true
      } satisfies Representation
    }
  )

  return Effect.fnUntraced(function*(request: RetrieveRequest) {
    const { callback, search, topic } = request
    if (topic !== undefined) return yield* retrieveTopic(request, topic)
    if (search !== undefined) return yield* retrieveFeeds(request, search, "what hub.callback asks for")
    if (callback !== undefined) {
      const ofCallback = { ...Search.matchAll, endpointUrl: callback }
      return yield* retrieveFeeds(request, ofCallback, `the callback ${Topic.quote(callback)}`)
    }
    return yield* badParameter(
      "hub.topic",
      "Please provide a hub.topic (or a hub.callback) to retrieve the entries of."
    )
  })
})

/** True for a retrieve of the newest entries. `findSubscribed` reads these together with the resource. */
const selectsNewest = ({ after, before, ids, order }: RetrieveRequest): boolean =>
  after === undefined && before === undefined && ids === undefined && order !== "stored"

/** The URL of a retrieve of several feeds, which names them together. */
const urlOf = ({ callback }: RetrieveRequest, search: Search.Search, baseUrl: string): string => {
  const parameters = new URLSearchParams({ "hub.mode": "retrieve" })
  if (callback !== undefined) parameters.set("hub.callback", callback)
  else for (const [key, text] of Search.format(search)) parameters.append(`hub.callback[${key}]`, text)
  return `${baseUrl}/?${parameters}`
}

/** Adds the feed of each entry as its source. `feeds` has one subscription of each feed. */
const makeAddSources = Effect.map(
  ResourceStore,
  (resources) =>
    Effect.fnUntraced(function*(stored: ReadonlyArray<StoredEntry>, feeds: ReadonlyArray<Subscription>) {
      const topics = new Map(feeds.map(({ resourceId, topic }) => [resourceId, topic]))
      const ids = [...new Set(stored.map(({ resourceId }) => resourceId))]
      const loaded = yield* Effect.forEach(ids, (id) => refuseStoreErrors(resources.load(id)), {
        concurrency: "unbounded"
      })
      const headers = new Map(ids.map((id, i) => [id, Option.getOrUndefined(loaded[i] ?? Option.none())?.header]))
      return stored.map(({ entry, resourceId }) =>
        addSource(entry, headers.get(resourceId), topics.get(resourceId) ?? "")
      )
    })
)
