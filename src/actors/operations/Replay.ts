import { countOf } from "#domain/Count.ts"
import { Effect, Option, Schedule } from "effect"
import { withoutPrecedence } from "#domain/limits/AccountPrecedence.ts"
import { EntryStore } from "#domain/ports/EntryStore.ts"
import { type ReplayContent, type ReplayLimits, type ReplayProgress, Replays } from "#domain/ports/Replays.ts"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import { SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import { badParameter, type Refusal, refuse, Throttled } from "#domain/Refusal.ts"
import { type ResourceState, statusOf } from "#domain/poll/Resource.ts"
import type { Subscription } from "#domain/Subscription.ts"
import * as Topic from "#domain/Topic.ts"
import type { ReplayRequest } from "./Hub.ts"
import { makeParseTopic } from "./ParseTopic.ts"
import { refuseNotSubscribed } from "./Representations.ts"
import { refuseStoreErrors } from "./StoreRefusal.ts"
import { Partitions } from "#actors/cluster/Partitions.ts"
import { attemptText } from "#domain/delivery/Notification.ts"

/** Limits of waiting replays: notifications of a subscription, and bytes of documents of an account. */
const limits: ReplayLimits = { count: 50, bytes: 64 << 20 }

/** Time that a request waits for its callback; an attempt takes 10 s at most. */
const responseTimeout = "12 seconds"

/** Looks at the row every 100 ms: any runner may own the subscription, and the outbox shows its progress. */
const progressChecks = Schedule.spaced("100 millis")

/**
 * `Hub.replay`: sends the newest content to one callback again.
 *
 * A replay goes through the same outbox as every notification: in order, signed, and retried after a failure.
 */
export const makeReplay = Effect.gen(function*() {
  const replays = yield* Replays
  const enqueue = yield* makeEnqueue

  return Effect.fn("Hub.replay")(function*(request: ReplayRequest): Effect.fn.Return<void, Refusal> {
    const delivery = yield* enqueue(request)
    if (request.async) return
    const progress = yield* refuseStoreErrors(replays.progress(delivery)).pipe(
      Effect.repeat({ schedule: progressChecks, until: isSettled }),
      Effect.timeoutOption(responseTimeout),
      withoutPrecedence
    )
    if (Option.isNone(progress)) return yield* stillWaiting
    if (progress.value._tag === "Waiting") return yield* refuseFailed(progress.value)
  })
})

/** Puts the notification into the outbox, and returns the id of its delivery. */
const makeEnqueue = Effect.gen(function*() {
  const partitions = yield* Partitions
  const replays = yield* Replays
  const findSubscription = yield* makeFindSubscription
  const readContent = yield* makeReadContent
  return Effect.fnUntraced(function*(request: ReplayRequest) {
    const { resource, subscription } = yield* findSubscription(request)
    const content = yield* readContent(resource, request.count)
    if (content === undefined) {
      return yield* badParameter(
        "hub.topic",
        `Nothing is stored of ${Topic.quote(request.topic)} yet, so that there is nothing to replay.`
      )
    }
    // the null device costs a sequence and a credit, and no copy of a document
    const replayed = subscription.channel === "null" ? { ...content, news: noEntries } : content
    const queued = yield* refuseStoreErrors(replays.enqueue(subscription.id, replayed, limits))
    if (queued._tag === "Gone") return yield* refuseUnknown(request.topic, request.callback)
    if (queued._tag === "TooMany") return yield* refuseTooMany(subscription)
    if (queued._tag === "Full") return yield* refuseTooManyBytes(queued.bytes)
    yield* partitions.reloadSubscription(resource.partition, subscription.id)
    return queued.id
  })
})

const makeFindSubscription = Effect.gen(function*() {
  const parseTopic = yield* makeParseTopic
  const resources = yield* ResourceStore
  const subscriptions = yield* SubscriptionStore
  return Effect.fnUntraced(function*({ callback, caller, topic }: ReplayRequest) {
    const { canonical } = yield* parseTopic(topic, caller)
    const known = yield* refuseStoreErrors(subscriptions.findByTopic(caller.account.id, canonical))
    const subscription = known.find(({ endpoint, face }) => endpoint === callback && face === "api")
    if (subscription === undefined) return yield* refuseUnknown(topic, callback)
    if (subscription.state !== "active") {
      return yield* badParameter(
        "hub.callback",
        `The subscription with the callback ${Topic.quote(callback)} is ${subscription.state}; nothing is sent to it.`
      )
    }
    const resource = yield* refuseStoreErrors(resources.load(subscription.resourceId))
    return Option.isNone(resource)
      ? yield* refuseUnknown(topic, callback)
      : { subscription, resource: resource.value }
  })
})

/** The newest entries, oldest last, or the document. Undefined for a resource without stored content. */
const makeReadContent = Effect.map(
  EntryStore,
  (entries) =>
    Effect.fnUntraced(function*(resource: ResourceState, count: number) {
      const { feed: _, ...status } = statusOf(resource, "")
      const header = resource.header === undefined ? {} : { header: resource.header }
      const document = resource.kind === "feed"
        ? Option.none()
        : yield* refuseStoreErrors(entries.document(resource.id))
      if (Option.isSome(document)) {
        return { status, news: { _tag: "Document", document: document.value } } satisfies ReplayContent
      }
      const page = yield* refuseStoreErrors(entries.page({ resourceIds: [resource.id], count }))
      const ids = page._tag === "Page" ? page.entries.map(({ entry }) => entry.id) : []
      return ids.length === 0
        ? undefined
        : { status, ...header, news: { _tag: "Entries", ids } } satisfies ReplayContent
    })
)

const noEntries: ReplayContent["news"] = { _tag: "Entries", ids: [] }

const isSettled = (progress: ReplayProgress): boolean => progress._tag === "Gone" || progress.failed !== undefined

const refuseUnknown = (topic: string, callback: string) =>
  refuseNotSubscribed(`You are not subscribed to ${Topic.quote(topic)} with the callback ${Topic.quote(callback)}.`)

const refuseTooMany = ({ endpoint }: Subscription) =>
  badParameter(
    "hub.callback",
    `${limits.count} notifications or more wait for ${
      Topic.quote(endpoint)
    } already; they are sent first. Try again when they are.`
  )

const refuseTooManyBytes = (waiting: number) =>
  refuse(
    new Throttled({
      message:
        `${
          countOf(waiting, "byte")
        } of replayed documents wait for your callbacks already, of ${limits.bytes} at most. ` +
        "Try again when they are taken; what a callback does not take goes within an hour.",
      retryAfter: 60
    })
  )

const stillWaiting = badParameter(
  "hub.callback",
  "The notification waits behind others that the callback has not taken yet; it is sent after them."
)

const refuseFailed = ({ failed }: Extract<ReplayProgress, { _tag: "Waiting" }>) => {
  const reason = failed === undefined ? "" : attemptText(failed).replace(/\.?$/, ".")
  return badParameter("hub.callback", `The notification was not delivered: ${reason} It is tried again.`)
}
