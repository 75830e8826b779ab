import { Effect, Option } from "effect"
import { timeOfPosition } from "#domain/delivery/DeliveryLogEntry.ts"
import { anonymous } from "#domain/Account.ts"
import { type Labels, merge } from "#domain/Labels.ts"
import { hasLeaseEnded } from "#domain/websub/Lease.ts"
import {
  type BriefItem,
  type ImportedSubscription,
  type NewSubscription,
  type SubscriptionItem,
  SubscriptionStore
} from "#domain/ports/SubscriptionStore.ts"
import { StoreError } from "#domain/ports/StoreError.ts"
import { tooManySentence } from "#domain/SubscriptionMaximum.ts"
import { initialPeriodSeconds, resourceProfileOf, type ResourceState } from "#domain/poll/Resource.ts"
import { isInRange, matchAll, type Search } from "#domain/Search.ts"
import { shownFormat, type Subscription } from "#domain/Subscription.ts"
import { siteOf } from "#domain/Topic.ts"
import { isSimilar } from "./Similarity.ts"
import { isLive, loaded, operation, settle, type State, type Subscriber, subscribersOf } from "./State.ts"

export const make = (state: State): SubscriptionStore["Service"] =>
  SubscriptionStore.of({
    subscribe: Effect.fn("SubscriptionStore.subscribe")((wanted) =>
      withinMaximum(state, [wanted], operation(state, (now) => subscribe(state, wanted, now)))
    ),
    subscribeAll: Effect.fn("SubscriptionStore.subscribeAll")((wanted) =>
      withinMaximum(
        state,
        wanted,
        operation(state, (now) => {
          const known = new Set(state.idByUrl.keys())
          return wanted.map((one) => importOne(state, one, now, !known.has(one.topic.canonical)))
        })
      )
    ),
    findUnwatched: Effect.fn("SubscriptionStore.findUnwatched")((urls) =>
      operation(state, (now) =>
        new Set(urls.filter((url) => {
          const resource = state.resources.get(state.idByUrl.get(url) ?? 0)
          return resource?.lastFetch !== undefined && subscribersOf(state, resource.id, now).length === 0
        })))
    ),
    exportPage: Effect.fn("SubscriptionStore.exportPage")((accountId, after, limit) =>
      operation(state, () => {
        const all = held(state, accountId, ({ subscription: { face, state } }) => face === "api" && state !== "pending")
          .map(({ subscription }) => subscription)
        const unlabelled = all.filter(({ id, labels }) => labels === undefined && id > (after?.id ?? 0))
        const labelled = all.filter(({ id, labels: [first] = [] }) =>
          first !== undefined && (after?.folder === undefined || first > after.folder ||
            first === after.folder && id > after.id)
        ).toSorted((a, b) => compareFolders(a, b) || a.id - b.id)
        return (after?.folder === undefined && unlabelled.length > 0 ? unlabelled : labelled).slice(0, limit).map((
          subscription
        ) => ({ subscription, resource: resourceProfileOf(resourceOf(state, subscription.resourceId)) }))
      })
    ),
    rotateSecret: Effect.fn("SubscriptionStore.rotateSecret")((subscription, secret, graceMs) =>
      operation(state, (now) => {
        const existing = state.subscriptions.get(subscription.id)
        if (existing === undefined) return undefined
        const rotated = rotate(existing.subscription, secret, graceMs, now)
        const { previousSecret: _, previousSecretUntil: __, ...kept } = existing.subscription
        existing.subscription = { ...kept, secret, ...rotated }
        return rotated.previousSecretUntil === undefined ? {} : { previousUntil: rotated.previousSecretUntil }
      })
    ),
    remove: Effect.fn("SubscriptionStore.remove")((id) => operation(state, (now) => end(state, id, now))),
    discard: Effect.fn("SubscriptionStore.discard")((id) =>
      operation(state, (now) => {
        const subscription = state.subscriptions.get(id)?.subscription
        if (subscription === undefined) return false
        const { createdAt, resourceId } = subscription
        const isOnly = state.subscribers.get(resourceId)?.size === 1
        if (isOnly && state.createdAt.get(resourceId) === createdAt) state.unwatchedSince.set(resourceId, 0)
        return end(state, id, now)
      })
    ),
    removePending: Effect.fn("SubscriptionStore.removePending")((id) =>
      operation(
        state,
        (now) => state.subscriptions.get(id)?.subscription.state === "pending" && end(state, id, now)
      )
    ),
    removeExpired: Effect.fn("SubscriptionStore.removeEnded")((limit) =>
      operation(state, (now) => removeEnded(state, limit, now))
    ),
    setLabels: Effect.fn("SubscriptionStore.setLabels")((id, labels) =>
      operation(state, () => {
        const subscriber = state.subscriptions.get(id)
        if (subscriber === undefined) return false
        const { labels: _, ...kept } = subscriber.subscription
        subscriber.subscription = { ...kept, ...labelsOf(labels) }
        return true
      })
    ),
    saveNetwork: Effect.fn("SubscriptionStore.saveNetwork")((id, network) =>
      operation(state, () => {
        const subscriber = state.subscriptions.get(id)
        if (subscriber !== undefined) subscriber.subscription = { ...subscriber.subscription, network }
      })
    ),
    countOnSite: Effect.fn("SubscriptionStore.countOfSite")((site, limit) =>
      operation(state, (now) =>
        held(state, anonymous.account.id, ({ subscription }) =>
          siteOf(subscription.host) === site && isLive(subscription, now))
          .slice(0, limit).length)
    ),
    countInNetwork: Effect.fn("SubscriptionStore.countInNetwork")((network, limit) =>
      operation(state, (now) =>
        held(state, anonymous.account.id, ({ subscription }) =>
          subscription.network === network && isLive(subscription, now))
          .slice(0, limit).length)
    ),
    countOfAccount: Effect.fn("SubscriptionStore.countOfAccount")((accountId, limit) =>
      operation(state, () =>
        held(state, accountId, () =>
          true).slice(0, limit).length)
    ),
    find: Effect.fn("SubscriptionStore.find")((wanted) =>
      operation(state, () =>
        Option.fromNullishOr(single(state, wanted)?.subscription))
    ),
    load: (id) =>
      operation(state, () =>
        Option.map(
          Option.fromNullishOr(state.subscriptions.get(id)),
          ({ subscription, trial }) =>
            trial === undefined ? subscription : { ...subscription, trial }
        )),
    findByTopic: Effect.fn("SubscriptionStore.ofTopic")((accountId, url) =>
      operation(state, () =>
        held(state, accountId, ({ subscription }) =>
          subscription.resourceId === state.idByUrl.get(url))
          .map(({ subscription }) =>
            subscription
          ))
    ),
    feeds: Effect.fn("SubscriptionStore.feeds")((accountId, search, limit) =>
      operation(state, () => {
        const known = new Set<number>()
        return fitting(state, accountId, search).map(({ subscription }) =>
          subscription
        )
          .filter(({ resourceId }) => !known.has(resourceId) && known.add(resourceId)).slice(0, limit)
      })
    ),
    list: Effect.fn("SubscriptionStore.list")(
      ({ accountId, after, byPage, counted = false, newestFirst = false, page, search }) =>
        operation(state, () => {
          const oldestFirst = fitting(state, accountId, search ?? matchAll)
          const all = (newestFirst ? oldestFirst.toReversed() : oldestFirst).filter(({ subscription: { id } }) =>
            after === undefined || (newestFirst ? id < after : id > after)
          )
          return {
            items: all.slice((page - 1) * byPage, page * byPage).map((subscriber) => ({
              ...listed(state, subscriber, counted !== false),
              ...(counted === "items" && { lastSequence: subscriber.nextSequence - 1 })
            })),
            total: counted === true ? all.length : undefined
          }
        })
    ),
    listBriefly: Effect.fn("SubscriptionStore.listBriefly")(({ accountId, byPage, page, search }) =>
      operation(state, () =>
        fitting(state, accountId, search ?? matchAll).slice((page - 1) * byPage, page * byPage).map((subscriber) =>
          briefOf(listed(state, subscriber, false))
        ))
    )
  })

const briefOf = (
  { resource: { header, kind }, subscription: { endpoint, feedsOnly, format, secret, topic } }: SubscriptionItem
): BriefItem => ({
  subscription: {
    topic,
    endpoint,
    ...(format !== undefined && { format }),
    ...(feedsOnly !== undefined && { feedsOnly }),
    ...(secret !== undefined && { secret })
  },
  resource: { kind, ...(header !== undefined && { header }) }
})

const held = (state: State, accountId: number, fits: (subscriber: Subscriber) => boolean) =>
  [...state.subscriptions.values()].filter((subscriber) =>
    subscriber.subscription.accountId === accountId && fits(subscriber)
  )

/** Those whose URL is similar only where there are no others. */
export const fitting = (state: State, accountId: number, search: Search) => {
  const ofAccount = held(state, accountId, () => true)
  const under = (inUrl: InUrl) =>
    ofAccount.filter(({ subscription }) =>
      fits(search, subscription, resourceOf(state, subscription.resourceId), inUrl) &&
      isHealthy(search, state, subscription)
    )
  const exact = under((part, url) => url.toLowerCase().includes(part.toLowerCase()))
  return exact.length > 0 ? exact : under(isSimilar)
}

type InUrl = (part: string, url: string) => boolean

const fits = (search: Search, subscription: Subscription, resource: ResourceState, inUrl: InUrl): boolean => {
  const { channel, endpoint, host } = subscription
  const isJid = channel === "xmpp"
  const same = (wanted: string | undefined, actual: string) => wanted === undefined || wanted === actual
  const part = (wanted: string | undefined, url: string) => wanted === undefined || inUrl(wanted, url)
  const ranks = {
    velocity: resource.velocity,
    bozo: resource.bozoRank,
    porn: resource.pornRank,
    popularity: resource.popularity
  }
  return (search.format === undefined || search.format === shownFormat(subscription, resource)) &&
    (search.label === undefined || subscription.labels?.includes(search.label) === true) &&
    same(search.feedUrl, resource.url) && same(search.feedHostname, resource.host) &&
    part(search.feedInurl, resource.url) &&
    search.ranks.every(({ rank, range }) => isInRange(ranks[rank], range)) &&
    (isJid
      ? same(search.endpointJid, endpoint) && same(search.endpointDomain, host) &&
        search.endpointUrl === undefined && search.endpointInurl === undefined && search.endpointHostname === undefined
      : same(search.endpointUrl, endpoint) && same(search.endpointHostname, host) &&
        part(search.endpointInurl, endpoint) && search.endpointJid === undefined && search.endpointDomain === undefined)
}

const isHealthy = (search: Search, state: State, { failing, id, resourceId }: Subscription): boolean => {
  const { code, inError } = resourceOf(state, resourceId)
  const dropped = [...state.subscriptions.get(id)?.queue.values() ?? []].filter((row) => row.dropped).length
  const isError = code !== undefined && (code === 0 || code >= 400)
  return (search.feedFailing ?? inError) === inError &&
    (search.endpointFailing ?? failing !== undefined) === (failing !== undefined) &&
    (search.dropped === undefined || isInRange(dropped, search.dropped)) &&
    (search.feedCode === undefined || code !== undefined && (inError || !isError) && isInRange(code, search.feedCode))
}

const listed = (
  state: State,
  { bounces, log, queue, subscription }: Subscriber,
  counted: boolean
): SubscriptionItem => {
  const queued = [...queue.values()]
  const dropped = queued.filter((row) => row.dropped).length
  const next = subscription.state === "active" ? queued.find((row) => !row.dropped) : undefined
  const successes = [...log.values()].flatMap(({ outcome, position }) =>
    outcome === "delivered" ? [timeOfPosition(position)] : []
  )
  return {
    subscription,
    resource: resourceProfileOf(resourceOf(state, subscription.resourceId)),
    ...(counted && next !== undefined && { nextTryAt: next.delivery.dueAt }),
    ...(counted && successes.length > 0 && { lastSuccessAt: Math.max(...successes) }),
    ...(counted && { deliveries: { waiting: queued.length - dropped, dropped } }),
    ...(counted && bounces !== undefined && { bounces })
  }
}

const resourceOf = (state: State, id: number): ResourceState => {
  const resource = state.resources.get(id)
  if (resource === undefined) throw new Error(`Resource ${id} is missing although it has a subscription.`)
  return resource
}

const withinMaximum = <A>(
  state: State,
  wanted: ReadonlyArray<NewSubscription>,
  effect: Effect.Effect<A, StoreError>
): Effect.Effect<A, StoreError> =>
  Effect.suspend(() => {
    const { accountId = 0, maxOfAccount = Number.POSITIVE_INFINITY } = wanted[0] ?? {}
    const created = wanted.filter((one) => single(state, one) === undefined).length
    return created > 0 && held(state, accountId, () => true).length + created > maxOfAccount
      ? Effect.fail(new StoreError({ reason: { _tag: "TooMany", message: tooManySentence(maxOfAccount) } }))
      : effect
  })

const subscribe = (state: State, wanted: NewSubscription, now: number) => {
  const existing = single(state, wanted)
  const resourceId = state.idByUrl.get(wanted.topic.canonical) ?? create(state, wanted, now)
  if (wanted.state === "active") state.unwatchedSince.delete(resourceId)
  const stands = wanted.state === "pending" && existing?.subscription.state === "active" &&
    !hasLeaseEnded(existing.subscription, now)
  const subscription = stands ? existing.subscription : subscriptionOf(
    wanted,
    resourceId,
    existing?.subscription ?? { id: state.serial(), createdAt: now },
    now
  )
  if (existing !== undefined) {
    existing.subscription = subscription
    existing.bounces = undefined
    existing.trial = undefined
  } else {insert(state, {
      subscription,
      partition: wanted.partition,
      nextSequence: 1,
      queue: new Map(),
      history: new Map(),
      log: new Map()
    })}
  return {
    subscription,
    resource: loaded(state, resourceOf(state, resourceId), now),
    created: existing === undefined
  }
}

const single = (state: State, { accountId, endpoint, face, topic }: NewSubscription): Subscriber | undefined =>
  [...state.subscribers.get(state.idByUrl.get(topic.canonical) ?? 0)?.values() ?? []].find(({ subscription }) =>
    subscription.accountId === accountId && subscription.endpoint === endpoint && subscription.face === face
  )

const insert = (state: State, subscriber: Subscriber) => {
  const { id, resourceId } = subscriber.subscription
  state.subscriptions.set(id, subscriber)
  const ofResource = state.subscribers.get(resourceId) ?? new Map<number, Subscriber>()
  state.subscribers.set(resourceId, ofResource.set(id, subscriber))
}

const remove = (state: State, id: number): boolean => {
  const subscriber = state.subscriptions.get(id)
  if (subscriber === undefined) return false
  state.subscribers.get(subscriber.subscription.resourceId)?.delete(id)
  for (const deliveryId of subscriber.queue.keys()) state.queueOf.delete(deliveryId)
  return state.subscriptions.delete(id)
}

const end = (state: State, id: number, now: number): boolean => {
  const resourceId = state.subscriptions.get(id)?.subscription.resourceId
  const removed = remove(state, id)
  if (resourceId !== undefined) settle(state, resourceId, now)
  return removed
}

const removeEnded = (state: State, limit: number, now: number) => {
  const ended = [...state.subscriptions.values()].filter(({ subscription }) => hasLeaseEnded(subscription, now))
  return ended.slice(0, limit).map(({ partition, subscription: { accountId, endpoint, id, resourceId, topic } }) => {
    end(state, id, now)
    return { id, accountId, resourceId, topic, endpoint, partition }
  })
}

const create = (state: State, wanted: NewSubscription, now: number): number => {
  const id = state.serial()
  state.idByUrl.set(wanted.topic.canonical, id)
  state.unwatchedSince.set(id, 0)
  state.createdAt.set(id, now)
  state.resources.set(id, {
    id,
    url: wanted.topic.canonical,
    host: wanted.topic.host,
    partition: wanted.partition,
    nextFetch: now,
    period: wanted.periodSeconds ?? initialPeriodSeconds,
    failures: 0,
    kind: "unknown",
    inError: false,
    seen: new Uint8Array(),
    slices: new Uint8Array(),
    generatedIds: false,
    entriesSinceMaintenance: 0,
    subscribers: 0
  })
  return id
}

const rotate = (known: Partial<Subscription>, secret: string, graceMs: number, now: number): Rotation => {
  const { previousSecret, previousSecretUntil } = known
  if (known.secret === secret) {
    return previousSecret === undefined || previousSecretUntil === undefined
      ? {}
      : { previousSecret, previousSecretUntil }
  }
  return known.secret === undefined || graceMs === 0
    ? {}
    : { previousSecret: known.secret, previousSecretUntil: now + graceMs }
}

type Rotation = Pick<Subscription, "previousSecret" | "previousSecretUntil">

const compareFolders = ({ labels: [a = ""] = [] }: Subscription, { labels: [b = ""] = [] }: Subscription) =>
  a < b ? -1 : a > b ? 1 : 0

/** What is there stays, apart from further labels, an active state, and a new lease. */
const importOne = (
  state: State,
  wanted: NewSubscription,
  now: number,
  createdResource: boolean
): ImportedSubscription => {
  const existing = single(state, wanted)
  if (existing === undefined) {
    const { resource, subscription } = subscribe(state, wanted, now)
    if (createdResource && wanted.firstFetchAt !== undefined) {
      state.resources.set(resource.id, { ...resourceOf(state, resource.id), nextFetch: wanted.firstFetchAt })
    }
    return { subscription, created: true, changed: false, createdResource }
  }
  const { labels = [], leaseUntil, ...kept } = existing.subscription
  const merged = merge(labels, wanted.labels ?? [])
  const changed = merged.length > labels.length || kept.state === "pending" || leaseUntil !== undefined
  if (changed) {
    existing.subscription = {
      ...kept,
      state: kept.state === "pending" ? wanted.state : kept.state,
      ...labelsOf(merged),
      ...(wanted.leaseUntil !== undefined && { leaseUntil: wanted.leaseUntil })
    }
  }
  if (wanted.state === "active") state.unwatchedSince.delete(existing.subscription.resourceId)
  return { subscription: existing.subscription, created: false, changed, createdResource: false }
}

const labelsOf = (labels: Labels) => labels.length === 0 ? {} : { labels }

const headersOf = (headers: NonNullable<Subscription["headers"]>) => headers.length === 0 ? {} : { headers }

const subscriptionOf = (
  wanted: NewSubscription,
  resourceId: number,
  kept: Pick<Subscription, "id" | "createdAt"> & Partial<Subscription>,
  now: number
): Subscription => ({
  id: kept.id,
  accountId: wanted.accountId,
  resourceId,
  topic: wanted.topic.given,
  channel: wanted.channel,
  endpoint: wanted.endpoint,
  host: wanted.host,
  ...(wanted.format !== undefined && { format: wanted.format }),
  ...(wanted.feedsOnly === true && { feedsOnly: true }),
  ...(wanted.secret !== undefined && {
    secret: wanted.secret,
    ...rotate(kept, wanted.secret, (wanted.secretGraceSeconds ?? 0) * 1000, now)
  }),
  ...headersOf(wanted.headers ?? kept.headers ?? []),
  ...labelsOf(wanted.labels ?? kept.labels ?? []),
  ...(wanted.signature !== undefined && { signature: wanted.signature }),
  ...(wanted.retry !== undefined && { retry: wanted.retry }),
  face: wanted.face,
  state: wanted.state,
  ...(kept.failing !== undefined && kept.state !== "paused" && { failing: kept.failing }),
  ...(wanted.leaseUntil !== undefined && { leaseUntil: wanted.leaseUntil }),
  ...(wanted.network !== undefined && { network: wanted.network }),
  ...(wanted.asker !== undefined && { asker: wanted.asker }),
  createdAt: kept.createdAt
})
