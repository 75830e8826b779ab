import { Effect } from "effect"
import { NotificationLog } from "#domain/ports/NotificationLog.ts"
import { SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import { type Refusal, refuseUnavailable } from "#domain/Refusal.ts"
import { matchAll } from "#domain/Search.ts"
import { type FollowStart, type Hub, maxRetrievedFeeds, type RetrieveRequest } from "./Hub.ts"
import { makeMayRead, makeParseTopic, makeResolveSearch } from "./ParseTopic.ts"
import { refuseStoreErrors } from "./StoreRefusal.ts"

/** Reads of one page before a follow of busy resources is refused. */
const maxPageReads = 50

/** `Hub.follow`, on top of `Hub.retrieve`. */
export const makeFollow = Effect.fnUntraced(function*(retrieve: Hub["Service"]["retrieve"]) {
  const log = yield* NotificationLog
  const subscriptions = yield* SubscriptionStore
  const parseTopic = yield* makeParseTopic
  const resolveSearch = yield* makeResolveSearch
  const mayRead = yield* makeMayRead

  /** The topics of a retrieve, by resource. */
  const topicsOf = Effect.fnUntraced(function*({ callback, caller, search, topic }: RetrieveRequest) {
    if (topic !== undefined) {
      const { canonical } = yield* parseTopic(topic, caller)
      const found = yield* refuseStoreErrors(subscriptions.findByTopic(caller.account.id, canonical))
      return new Map(found.map(({ resourceId }) => [resourceId, topic]))
    }
    const query = search === undefined
      ? { ...matchAll, endpointUrl: callback ?? "" }
      : resolveSearch(search, caller)
    const found = yield* refuseStoreErrors(subscriptions.feeds(caller.account.id, query, maxRetrievedFeeds))
    return new Map(
      found.filter((feed) => mayRead(caller, feed)).map(({ resourceId, topic }) => [resourceId, topic])
    )
  })

  /** A notification between both reads of the heads would be in the page and come again, so the page is read again. */
  return Effect.fn("Hub.follow")(function*(request: RetrieveRequest): Effect.fn.Return<FollowStart, Refusal> {
    const topics = yield* topicsOf(request)
    const ids = [...topics.keys()]
    let before = yield* refuseStoreErrors(log.heads(ids))
    for (let attempt = 0; attempt < maxPageReads; attempt++) {
      const past = yield* retrieve(request)
      const heads = yield* refuseStoreErrors(log.heads(ids))
      if (heads.every((head, i) => head === before[i])) {
        return { past, topics, heads: new Map(ids.map((id, i) => [id, heads[i] ?? 0])) }
      }
      before = heads
    }
    return yield* tooBusy
  })
})

const tooBusy = refuseUnavailable("The resources change too fast to begin with them. Please try again.", 1)
