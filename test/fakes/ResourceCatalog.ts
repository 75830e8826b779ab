import { Effect, Option } from "effect"
import { resourceProfileOf } from "#domain/poll/Resource.ts"
import { type CatalogItem, type FailingHost, ResourceCatalog } from "#domain/ports/ResourceCatalog.ts"
import { isInRange, matchAll, type Search } from "#domain/Search.ts"
import { operation, type State, subscribersOf } from "./State.ts"
import { fitting } from "./Subscriptions.ts"

export const make = (state: State): ResourceCatalog["Service"] =>
  ResourceCatalog.of({
    list: Effect.fn("ResourceCatalog.list")(({ accountId, after = Infinity, limit, search = matchAll }) =>
      operation(state, (now) => {
        const ids = (accountId === undefined
          ? [...state.resources.keys()].filter((id) => fits(state, search, id))
          : [...new Set(fitting(state, accountId, search).map(({ subscription }) => subscription.resourceId))])
          .filter((id) => id < after).toSorted((a, b) => b - a)
        const page = ids.slice(0, limit)
        const next = ids.length > limit ? page.at(-1) : undefined
        return {
          items: page.flatMap((id) => itemOf(state, id, accountId, now) ?? []),
          ...(next !== undefined && { next })
        }
      })
    ),
    find: Effect.fn("ResourceCatalog.find")(({ accountId, id }) =>
      operation(state, (now) => Option.fromNullishOr(itemOf(state, id, accountId, now)))
    ),
    fetches: Effect.fn("ResourceCatalog.fetches")((id) => operation(state, () => state.fetches.get(id) ?? [])),
    versions: Effect.fn("ResourceCatalog.versions")((id) =>
      operation(state, () => (state.versions.get(id) ?? []).map(({ document: _, ...version }) => version))
    ),
    version: Effect.fn("ResourceCatalog.version")((resourceId, id) =>
      operation(
        state,
        () => Option.fromNullishOr(state.versions.get(resourceId)?.find((version) => version.id === id)?.document)
      )
    ),
    failingHosts: Effect.fn("ResourceCatalog.failingHosts")((accountId, limit) =>
      operation(state, () => {
        const subscriptions = [...state.subscriptions.values()].map(({ subscription }) => subscription).filter((one) =>
          accountId === undefined || one.accountId === accountId
        )
        const watched = new Set(subscriptions.map(({ resourceId }) => resourceId))
        const failing = [...state.resources.values()].filter(({ id, inError }) => inError && watched.has(id))
        return {
          resources: countHosts(failing, limit),
          callbacks: countHosts(subscriptions.filter((one) => one.failing !== undefined), limit)
        }
      })
    )
  })

const fits = (state: State, search: Search, id: number): boolean => {
  const resource = state.resources.get(id)
  return resource !== undefined && (search.feedUrl ?? resource.url) === resource.url &&
    (search.feedHostname ?? resource.host) === resource.host && resource.url.includes(search.feedInurl ?? "") &&
    (search.feedFailing ?? resource.inError) === resource.inError &&
    (search.feedCode === undefined || isInRange(resource.code, search.feedCode))
}

const itemOf = (state: State, id: number, accountId: number | undefined, now: number): CatalogItem | undefined => {
  const resource = state.resources.get(id)
  if (resource === undefined) return undefined
  const isOwn = ({ subscription }: { readonly subscription: { readonly accountId: number } }) =>
    accountId === undefined || subscription.accountId === accountId
  if (accountId !== undefined && ![...state.subscribers.get(id)?.values() ?? []].some(isOwn)) return undefined
  const { failures, host, inError, partition, url } = resource
  const upstream = state.upstreams.get(id)
  return {
    resource: resourceProfileOf(resource),
    url,
    host,
    partition,
    failures,
    inError,
    subscribers: subscribersOf(state, id, now).filter(isOwn).length,
    ...(upstream !== undefined && upstream.hub !== "" && {
      hub: { hub: upstream.hub, state: upstream.state, isReliable: upstream.reliable }
    })
  }
}

const countHosts = (
  items: ReadonlyArray<{ readonly host: string }>,
  limit: number
): ReadonlyArray<FailingHost> =>
  [...Map.groupBy(items, ({ host }) => host)].map(([host, all]) => ({ host, count: all.length }))
    .toSorted((a, b) => b.count - a.count || a.host.localeCompare(b.host)).slice(0, limit)
