import { Effect, Layer, Option } from "effect"
import { Partitions } from "#actors/cluster/Partitions.ts"
import { eventsTopicOf, eventsUrl, isEvents } from "#domain/EventsTopic.ts"
import { explainPeriod } from "#domain/poll/ExplainPeriod.ts"
import { intervalBoundsOf } from "#domain/poll/PollingInterval.ts"
import { EntryStore } from "#domain/ports/EntryStore.ts"
import { type CatalogItem, ResourceCatalog } from "#domain/ports/ResourceCatalog.ts"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { badParameter, type Refusal } from "#domain/Refusal.ts"
import { quote } from "#domain/Topic.ts"
import { maskCredentials } from "#domain/UrlCredentials.ts"
import { makeAccountLimit } from "./AccountLimit.ts"
import { makeMayRead, makeResolveSearch } from "./ParseTopic.ts"
import { refuseNotSubscribed } from "./Representations.ts"
import {
  type FetchOutcome,
  type ListResources,
  type NamedResource,
  type ResourceReport,
  ResourceReports,
  type Scope
} from "./ResourceReports.ts"
import { refuseStoreErrors } from "./StoreRefusal.ts"

/** Fetches on request of one account. */
const fetchLimit = { burst: 20, perMinute: 20 }

/** Hosts in one list. */
const maxHosts = 10

/** Interval and number of the looks at a fetch that runs. */
const lookInterval = "100 millis"
const maxLooks = 50

export const layer = Layer.effect(
  ResourceReports,
  Effect.gen(function*() {
    const catalog = yield* ResourceCatalog
    const entries = yield* EntryStore
    const describe = yield* makeDescribe
    const find = yield* makeFind
    const resolveSearch = yield* makeResolveSearch
    return ResourceReports.of({
      list: Effect.fn("ResourceReports.list")(function*({ caller, ofAll, search, ...query }: ListResources) {
        const page = yield* refuseStoreErrors(catalog.list({
          ...query,
          ...accountOf({ caller, ...(ofAll !== undefined && { ofAll }) }),
          ...(search !== undefined && { search: resolveSearch(search, caller) })
        }))
        return { ...page, items: page.items.map((item) => describe(item, ofAll === true)) }
      }),
      show: Effect.fn("ResourceReports.show")((request) =>
        Effect.map(find(request), (item) => describe(item, request.ofAll === true))
      ),
      fetches: Effect.fn("ResourceReports.fetches")((request) =>
        Effect.andThen(find(request), refuseStoreErrors(catalog.fetches(request.id)))
      ),
      entries: Effect.fn("ResourceReports.entries")(function*({ before, count, ...request }) {
        yield* find(request)
        const page = yield* refuseStoreErrors(
          entries.page({ resourceIds: [request.id], count, ...(before !== undefined && { before }) })
        )
        return page._tag === "Page"
          ? page.entries
          : yield* badParameter("before", `before names no stored entry: received ${quote(page.id)}.`)
      }),
      document: Effect.fn("ResourceReports.document")((request) =>
        Effect.andThen(
          find(request),
          Effect.map(refuseStoreErrors(entries.document(request.id)), Option.getOrUndefined)
        )
      ),
      versions: Effect.fn("ResourceReports.versions")((request) =>
        Effect.andThen(find(request), refuseStoreErrors(catalog.versions(request.id)))
      ),
      version: Effect.fn("ResourceReports.version")(function*({ version, ...request }) {
        yield* find(request)
        const found = yield* refuseStoreErrors(catalog.version(request.id, version))
        return Option.isSome(found)
          ? found.value
          : yield* refuseNotSubscribed(`The resource ${request.id} has no version ${version}; a later one replaced it.`)
      }),
      fetchNow: yield* makeFetchNow(find, describe),
      failingHosts: Effect.fn("ResourceReports.failingHosts")((request) =>
        refuseStoreErrors(catalog.failingHosts(accountOf(request).accountId, maxHosts))
      )
    })
  })
)

/** The account whose resources the caller reads; none for the resources of all accounts. */
const accountOf = ({ caller, ofAll }: Scope) => ofAll === true ? {} : { accountId: caller.account.id }

type Find = (request: NamedResource) => Effect.Effect<CatalogItem, Refusal>
type Describe = (item: CatalogItem, ofAll: boolean) => ResourceReport

/** Adds the reason of the period. Operators of other accounts see no passwords, and events have the URL of their topic. */
const makeDescribe = Effect.map(Settings, (settings): Describe => {
  const bounds = intervalBoundsOf(settings)
  return (item, ofAll) => ({
    ...item,
    url: isEvents(item.url) ? eventsUrl(settings.baseUrl) : ofAll ? maskCredentials(item.url) : item.url,
    periodReason: explainPeriod(item, bounds)
  })
})

const makeFind = Effect.gen(function*() {
  const catalog = yield* ResourceCatalog
  const { baseUrl } = yield* Settings
  const mayRead = yield* makeMayRead
  return Effect.fnUntraced(function*(request: NamedResource) {
    const { caller, id } = request
    const found = Option.getOrUndefined(yield* refuseStoreErrors(catalog.find({ ...accountOf(request), id })))
    const isReadable = found !== undefined && (!isEvents(found.url) ||
      found.url === eventsTopicOf(caller.account.id) && mayRead(caller, { topic: eventsUrl(baseUrl) }))
    return found !== undefined && isReadable
      ? found
      : yield* refuseNotSubscribed(`Your account has no subscription to a resource ${id}.`)
  })
})

/** Pings the resource, and looks at its state until the fetch has ended. A resource without a fetch gets its first one. */
const makeFetchNow = Effect.fnUntraced(function*(find: Find, describe: Describe) {
  const partitions = yield* Partitions
  const resources = yield* ResourceStore
  const limit = makeAccountLimit("fetches on request are possible", fetchLimit)
  return Effect.fn("ResourceReports.fetchNow")(
    function*(request: NamedResource): Effect.fn.Return<FetchOutcome, Refusal> {
      const { partition, resource, url } = yield* find(request)
      if (isEvents(url)) return yield* badParameter("id", "Events are read from the database, and never fetched.")
      yield* limit(request.caller)
      const load = Effect.map(refuseStoreErrors(resources.load(request.id)), Option.getOrUndefined)
      if (resource.lastFetch === undefined) yield* partitions.firstFetch(partition, request.id)
      else yield* partitions.ping(partition, request.id)
      const hasEnded = Effect.map(load, (state) => state?.lastFetch !== resource.lastFetch)
      let isDone = yield* hasEnded
      for (let look = 0; look < maxLooks && !isDone; look++) {
        yield* Effect.sleep(lookInterval)
        isDone = yield* hasEnded
      }
      yield* refuseStoreErrors(resources.flush)
      return { report: describe(yield* find(request), request.ofAll === true), isDone }
    }
  )
})
