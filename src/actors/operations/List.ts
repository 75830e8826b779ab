import { Effect } from "effect"
import { type SubscriptionItem, SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import type { BriefListRequest, ListedSubscription, ListRequest } from "./Hub.ts"
import { makeResolveSearch } from "./ParseTopic.ts"
import { Presences } from "./Presences.ts"
import { refuseStoreErrors } from "./StoreRefusal.ts"

/** `Hub.list`: a page of the caller's subscriptions, oldest first. */
export const makeList = Effect.gen(function*() {
  const subscriptions = yield* SubscriptionStore
  const presences = yield* Presences
  const toQuery = yield* makeToQuery

  /** Presences of the items by XMPP; the order of the items stays. */
  const addPresences = Effect.fnUntraced(function*(items: ReadonlyArray<SubscriptionItem>) {
    const jids = items.flatMap(({ subscription: { channel, endpoint } }) => channel === "xmpp" ? [endpoint] : [])
    if (jids.length === 0) return items
    const known = (yield* presences.of(jids)).values()
    return items.map((item): ListedSubscription =>
      item.subscription.channel === "xmpp" ? { ...item, presence: known.next().value ?? "unknown" } : item
    )
  })

  return Effect.fnUntraced(function*({ presence = false, ...request }: ListRequest) {
    const page = yield* refuseStoreErrors(subscriptions.list(toQuery(request)))
    return presence ? { ...page, items: yield* addPresences(page.items) } : page
  })
})

/** `Hub.listBriefly`: a page of the caller's subscriptions with a few fields of each, oldest first. */
export const makeListBriefly = Effect.gen(function*() {
  const subscriptions = yield* SubscriptionStore
  const toQuery = yield* makeToQuery
  return (request: BriefListRequest) => refuseStoreErrors(subscriptions.listBriefly(toQuery(request)))
})

/** Makes the function that turns a request into the query of the caller's subscriptions. */
const makeToQuery = Effect.map(
  makeResolveSearch,
  (resolveSearch) => <Request extends BriefListRequest>({ caller, search, ...query }: Request) => ({
    accountId: caller.account.id,
    ...query,
    ...(search !== undefined && { search: resolveSearch(search, caller) })
  })
)
