import { Effect, Option, Schedule } from "effect"
import { EntryStore } from "#domain/ports/EntryStore.ts"
import { type ReplayContent, type ReplayLimits, type ReplayProgress, Replays } from "#domain/ports/Replays.ts"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import { SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import { badParameter, NotSubscribed, type Refusal, refuse, Throttled } from "#domain/Refusal.ts"
import { type ResourceState, statusOf } from "#domain/poll/Resource.ts"
import type { Subscription } from "#domain/Subscription.ts"
import * as Topic from "#domain/Topic.ts"
import type { ReplayRequest } from "./Hub.ts"
import { refuseStoreErrors } from "./Refusing.ts"
import { Partitions } from "#actors/cluster/Partitions.ts"

/** A subscription with so many waiting notifications gets no others on request, nor an account with so many bytes of documents to be told again. */
const bounds: ReplayLimits = { count: 50, bytes: 64 << 20 }

/** How long a request waits for its callback: a try takes 10 s at most. */
const patience = "12 seconds"

/** Looks every 100 ms: whoever owns the subscription, the row of the outbox tells how far it is. */
const looking = Schedule.spaced("100 millis")

/**
 * Sends the newest content to one callback once more, through the same outbox as everything else: in order, signed, tried again when it fails.
 */
export const makeReplay = Effect.gen(function*() {
  const entries = yield* EntryStore
  const partitions = yield* Partitions
  const replays = yield* Replays
  const resources = yield* ResourceStore
  const subscriptions = yield* SubscriptionStore

  const subscribed = Effect.fnUntraced(function*({ callback, caller, topic }: ReplayRequest) {
    const { canonical } = yield* Effect.fromResult(Topic.parse(topic))
    const mine = yield* refuseStoreErrors(subscriptions.findByTopic(caller.account.id, canonical))
    const subscription = mine.find(({ endpoint, face }) => endpoint === callback && face === "api")
    if (subscription === undefined) return yield* notSubscribed(topic, callback)
    if (subscription.state !== "active") {
      return yield* badParameter(
        "hub.callback",
        `The subscription with the callback ${Topic.quote(callback)} is ${subscription.state}; nothing is sent to it.`
      )
    }
    const resource = yield* refuseStoreErrors(resources.load(subscription.resourceId))
    return Option.isNone(resource)
      ? yield* notSubscribed(topic, callback)
      : { subscription, resource: resource.value }
  })

  /** The newest entries, oldest last, or the document; undefined when nothing is stored. */
  const content = Effect.fnUntraced(function*(resource: ResourceState, count: number) {
    const { feed: _, ...status } = statusOf(resource, "")
    const header = resource.header === undefined ? {} : { header: resource.header }
    const document = resource.kind === "feed" ? Option.none() : yield* refuseStoreErrors(entries.document(resource.id))
    if (Option.isSome(document)) {
      return { status, news: { _tag: "Document", document: document.value } } satisfies ReplayContent
    }
    const page = yield* refuseStoreErrors(entries.page({ resourceIds: [resource.id], count }))
    const ids = page._tag === "Page" ? page.entries.map(({ entry }) => entry.id) : []
    return ids.length === 0
      ? undefined
      : { status, ...header, news: { _tag: "Entries", ids } } satisfies ReplayContent
  })

  const queue = Effect.fnUntraced(function*(request: ReplayRequest) {
    const { resource, subscription } = yield* subscribed(request)
    const replayed = yield* content(resource, request.count)
    if (replayed === undefined) {
      return yield* badParameter(
        "hub.topic",
        `Nothing is stored of ${Topic.quote(request.topic)} yet, so that there is nothing to replay.`
      )
    }
    const isSent = subscription.channel !== "null"
    const wanted = isSent ? replayed : { ...replayed, news: nothing }
    const queued = yield* refuseStoreErrors(replays.enqueue(subscription.id, wanted, bounds))
    if (queued._tag === "Gone") return yield* notSubscribed(request.topic, request.callback)
    if (queued._tag === "TooMany") return yield* tooManyWaiting(subscription)
    if (queued._tag === "Full") return yield* tooManyBytes(queued.bytes)
    yield* partitions.reloadSubscription(resource.partition, subscription.id)
    return queued.id
  })

  return Effect.fn("Hub.replay")(function*(request: ReplayRequest): Effect.fn.Return<void, Refusal> {
    const delivery = yield* queue(request)
    if (request.async) return
    const progress = yield* refuseStoreErrors(replays.progress(delivery)).pipe(
      Effect.repeat({ schedule: looking, until: settled }),
      Effect.timeoutOption(patience)
    )
    if (Option.isNone(progress)) return yield* stillWaiting
    if (progress.value._tag === "Waiting") return yield* failed(progress.value)
  })
})

/** What the null device is told costs a sequence and a credit, and no copy of a document. */
const nothing: ReplayContent["news"] = { _tag: "Entries", ids: [] }

const settled = (progress: ReplayProgress): boolean => progress._tag === "Gone" || progress.failed !== undefined

const notSubscribed = (topic: string, callback: string) =>
  refuse(
    new NotSubscribed({
      message: `You are not subscribed to ${Topic.quote(topic)} with the callback ${Topic.quote(callback)}.`
    })
  )

const tooManyWaiting = (subscription: Subscription) =>
  badParameter(
    "hub.callback",
    `${bounds.count} notifications or more wait for ${
      Topic.quote(subscription.endpoint)
    } already; they are sent first. Try again when they are.`
  )

const tooManyBytes = (waiting: number) =>
  refuse(
    new Throttled({
      message: `${waiting} bytes of replayed documents wait for your callbacks already, of ${bounds.bytes} at most. ` +
        "Try again when they are taken; what a callback does not take goes within an hour.",
      retryAfter: 60
    })
  )

const stillWaiting = badParameter(
  "hub.callback",
  "The notification waits behind others that the callback has not taken yet; it is sent after them."
)

const failed = ({ failed }: Extract<ReplayProgress, { _tag: "Waiting" }>) => {
  const why = failed?.message.replace(/\.?$/, ".") ?? ""
  return badParameter("hub.callback", `The notification was not delivered: ${why} It is tried again.`)
}
