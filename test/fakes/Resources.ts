import { keepsVersion, maxVersions } from "#domain/poll/DocumentVersion.ts"
import { fetchRecordOf, maxFetchRecords } from "#domain/poll/FetchRecord.ts"
import { Effect, Option } from "effect"
import type { Entry } from "#domain/feed/Entry.ts"
import type { Delivery, Document, News, Notification } from "#domain/delivery/Notification.ts"
import {
  type PingedTopic,
  type PollWrite,
  ResourceStore,
  type SubscribedResource
} from "#domain/ports/ResourceStore.ts"
import { resourceProfileOf, type ResourceState, statusOf, type UnchangedPoll } from "#domain/poll/Resource.ts"
import type { Subscription } from "#domain/Subscription.ts"
import { checkLength, documentOf, newsOfWrite, notificationOfWrite } from "#layers/sql/NotificationContent.ts"
import { page } from "./Entries.ts"
import { type Arrived, gone, loaded, operation, type State, type Subscriber, subscribersOf } from "./State.ts"

export const make = (state: State): ResourceStore["Service"] =>
  ResourceStore.of({
    find: Effect.fn("ResourceStore.find")((url) =>
      operation(state, (now) =>
        Option.map(resourceOf(state, state.idByUrl.get(url)), (resource) => loaded(state, resource, now)))
    ),
    findSubscribed: Effect.fn("ResourceStore.seenBy")((accountId, url, entryCount) =>
      operation(state, () =>
        Option.fromNullishOr(seenBy(state, accountId, url, entryCount)))
    ),
    findPinged: Effect.fn("ResourceStore.findPinged")((topic, maxFragments) =>
      operation(state, (now) => pinged(state, topic, maxFragments, now))
    ),
    load: (id) =>
      operation(state, (now) => Option.map(resourceOf(state, id), (resource) => loaded(state, resource, now))),
    alarms: Effect.fn("ResourceStore.alarms")((partition) => operation(state, (now) => alarms(state, partition, now))),
    touch: (polled) => Effect.sync(() => touch(state, polled)),
    record: Effect.fnUntraced(function*(change: PollWrite) {
      yield* checkLength(change)
      const deliveries = yield* operation(state, (now) => record(state, change, now))
      if (!state.faults.loseAnswer) return deliveries
      state.faults.loseAnswer = false
      return yield* gone
    }),
    announceFirst: Effect.fn("ResourceStore.announceFirst")((resource, document) =>
      operation(state, (now) => announceFirst(state, resource, document, now))
    ),
    flush: operation(state, () => {})
  })

const resourceOf = (state: State, id: number | undefined) =>
  Option.fromNullishOr(id === undefined ? undefined : state.resources.get(id))

const seenBy = (
  state: State,
  accountId: number,
  url: string,
  entryCount: number
): SubscribedResource | undefined => {
  const resource = state.resources.get(state.idByUrl.get(url) ?? 0)
  const [oldest] = [...state.subscriptions.values()].filter(({ subscription }) =>
    subscription.accountId === accountId && subscription.resourceId === resource?.id
  )
  if (resource === undefined || oldest === undefined) return undefined
  const { format } = oldest.subscription
  const newest = page(state, { resourceIds: [resource.id], count: entryCount })
  return {
    resource: resourceProfileOf(resource),
    ...(format !== undefined && { format }),
    ...(newest._tag === "Page" && { newest: newest.entries.map(({ entry }) => entry) })
  }
}

const alarms = (state: State, partition: number, now: number) => {
  const due = [...state.resources.values()].filter((resource) =>
    resource.partition === partition && subscribersOf(state, resource.id, now).length > 0
  )
  return {
    ids: Float64Array.from(due, (resource) => resource.id),
    dueAt: Float64Array.from(due, (resource) => resource.nextFetch),
    failing: Float64Array.from(due.filter(({ failures }) => failures > 0), (resource) => resource.id)
  }
}

export const pinged = (state: State, topic: string, maxFragments: number, now: number): PingedTopic => {
  const isWatched = (id: number) => subscribersOf(state, id, now).length > 0
  const id = state.idByUrl.get(topic)
  const fragments = [...state.resources.values()].filter((resource) =>
    resource.url.startsWith(`${topic}#`) && isWatched(resource.id)
  )
  return {
    ...(id !== undefined && { resource: { id, isWatched: isWatched(id) } }),
    fragments: fragments.map((resource) => resource.id).slice(0, maxFragments)
  }
}

const day = 24 * 60 * 60_000

const touch = (state: State, polled: UnchangedPoll) => {
  const stored = state.resources.get(polled.id)
  if (stored === undefined) return
  const newer = (stored.lastFetch ?? polled.lastFetch) - polled.lastFetch
  if (newer > 0 && newer <= day) return
  state.resources.set(polled.id, { ...stored, ...polled })
}

const record = (state: State, change: PollWrite, now: number): ReadonlyArray<Delivery> => {
  const stored = state.resources.get(change.state.id)
  if (stored === undefined) return []
  const { id, url, host, partition } = stored
  const written = writeEntries(state, change, now)
  const repeated = change.announce?._tag === "Document"
    ? stored.signature !== undefined && stored.signature === change.state.signature
    : change.announce?._tag === "Failure" && stored.inError && change.state.inError
  const isNewDocument = stored.signature === undefined || stored.signature !== change.state.signature
  state.resources.set(id, { ...change.state, id, url, host, partition })
  const document = documentOf(change)
  if (document !== undefined) state.documents.set(id, document)
  if (document !== undefined && isNewDocument && keepsVersion(change)) addVersion(state, id, document, now)
  const fetch = fetchRecordOf(change)
  const fetches = state.fetches.get(id) ?? []
  if (fetch !== undefined && JSON.stringify(fetch) !== JSON.stringify(fetches[0])) {
    state.fetches.set(id, [fetch, ...fetches].slice(0, maxFetchRecords))
  }
  const subscribers = subscribersOf(state, id, now)
  const whole = subscribers.some(({ subscription }) => subscription.face === "hub")
  const news = repeated ? undefined : newsOfWrite(change, (entryId) => written.has(entryId), whole)
  if (news === undefined) return []
  const notification = notificationOfWrite(change, news, state.serial(), now)
  const told = state.notifications.get(id) ?? []
  state.notifications.set(id, told)
  told.push({ sequence: (told.at(-1)?.sequence ?? 0) + 1, notification })
  return subscribers.filter(({ subscription }) => isFor(subscription, news))
    .flatMap((subscriber) => queue(state, subscriber, notification, now))
}

const addVersion = (state: State, id: number, document: Document, now: number): void => {
  const { body, contentType } = document
  const version = { id: state.serial(), at: now, contentType, bytes: body.byteLength, document }
  state.versions.set(id, [version, ...state.versions.get(id) ?? []].slice(0, maxVersions))
}

const queue = (
  state: State,
  subscriber: Subscriber,
  notification: Notification,
  now: number
): ReadonlyArray<Delivery> => {
  const delivery: Delivery = {
    id: state.serial(),
    subscriptionId: subscriber.subscription.id,
    sequence: subscriber.nextSequence++,
    credits: charge(state, subscriber.subscription.accountId),
    attempt: 0,
    dueAt: now,
    waitsSince: now,
    notification
  }
  const dropped = subscriber.subscription.state === "paused"
  subscriber.queue.set(delivery.id, { delivery, dropped })
  subscriber.history.set(delivery.sequence, delivery)
  state.queueOf.set(delivery.id, delivery.subscriptionId)
  return dropped ? [] : [delivery]
}

const announceFirst = (state: State, resource: ResourceState, document: Document, now: number) => {
  const { feed: _, ...status } = statusOf(resource, "")
  const notification: Notification = {
    id: state.serial(),
    resourceId: resource.id,
    createdAt: now,
    status,
    news: { _tag: "Document", document }
  }
  return subscribersOf(state, resource.id, now).filter(({ subscription }) => subscription.face === "hub")
    .flatMap((subscriber) => queue(state, subscriber, notification, now))
}

/** The hub face passes documents on, and nothing else. */
const isFor = ({ face }: Subscription, news: News): boolean =>
  face === "api" || news._tag === "Document" || news._tag === "Entries" && news.wholeFeed !== undefined

/** Gives the ids of the entries that were new, or stored with another content. */
const writeEntries = (state: State, change: PollWrite, now: number): ReadonlySet<string> => {
  const known = state.entries.get(change.state.id) ?? new Map<string, Arrived>()
  state.entries.set(change.state.id, known)
  const written = new Set<string>()
  for (const entry of change.entries) {
    if (known.has(entry.id)) continue
    known.set(entry.id, { entry, firstSeen: now, arrival: state.serial() })
    written.add(entry.id)
  }
  for (const entry of change.updated) {
    const before = known.get(entry.id)
    if (before === undefined || same(before.entry, entry)) continue
    known.set(entry.id, { ...before, entry })
    written.add(entry.id)
  }
  return written
}

const same = (a: Entry, b: Entry) => JSON.stringify(a) === JSON.stringify(b)

/** Takes one credit and gives the balance after it. */
export const charge = (state: State, accountId: number): number => {
  const holder = state.accounts.get(accountId)
  if (holder === undefined) return 0
  holder.account = { ...holder.account, credits: holder.account.credits - 1 }
  return holder.account.credits
}
