import type { PushedDocument } from "#domain/poll/PushedDocument.ts"
import { Effect, Option } from "effect"
import { BoundedMap } from "#domain/collections/BoundedMap.ts"
import { DocumentMemory } from "#domain/ports/DocumentMemory.ts"
import { EntryStore } from "#domain/ports/EntryStore.ts"
import { Pings } from "#domain/ports/Pings.ts"
import { type PingedTopic, ResourceStore } from "#domain/ports/ResourceStore.ts"
import { warnOfStoreError } from "#domain/ports/StoreError.ts"
import { refuseUnavailable } from "#domain/Refusal.ts"
import * as Topic from "#domain/Topic.ts"
import type { PublishOptions } from "./Hub.ts"
import { refuseStoreErrors } from "./StoreRefusal.ts"
import { Partitions } from "#actors/cluster/Partitions.ts"

/** Fragments of one page that a ping of the page reaches; the others find the news at their next poll. */
const maxFragments = 200

/** Calls to owners that run at once for one request. */
const concurrency = 8

/** `Hub.publish`: a ping, or a fat ping with the document itself. */
export const makePublish = Effect.gen(function*() {
  const scope = yield* Effect.scope
  const recordPing = yield* makeRecordPing
  const notifyOwner = yield* makeNotifyOwner
  const partitions = yield* Partitions
  const { exchanges } = yield* DocumentMemory

  /** Writes all rows, by one statement, and returns the calls to the owners. */
  const recordPings = Effect.fnUntraced(function*(topics: ReadonlyArray<string>, options: PublishOptions) {
    const pinged = yield* refuseStoreErrors(all(topics.map((topic) => recordPing(topic, options)), "unbounded"))
    return pinged.flatMap(({ fragments, resources }) => [
      ...resources.map((resource) => notifyOwner(resource, options.content)),
      ...fragments.map(({ id, partition }) => partitions.ping(partition, id))
    ])
  })

  /** The content counts as waiting until its owner has stored the new entries, or has dropped the content. */
  return (topics: ReadonlyArray<string>, options: PublishOptions = {}) =>
    Effect.uninterruptibleMask((restore) => {
      const bytes = options.content?.body.length ?? 0
      const reservation = exchanges.reserve("fat pings")
      const release = Effect.sync(() => reservation.release())
      if (!reservation.tryGrow(bytes)) return Effect.andThen(release, tooMuchContent)
      return restore(recordPings(topics, options)).pipe(
        Effect.onError(() => release),
        Effect.flatMap((calls) =>
          calls.length === 0
            ? release
            : Effect.asVoid(Effect.forkIn(Effect.ensuring(restore(all(calls, concurrency)), release), scope))
        )
      )
    })
})

/** All results. A single effect, the common case, needs no further fiber. */
const all = <A, E>(
  effects: ReadonlyArray<Effect.Effect<A, E>>,
  concurrency: number | "unbounded"
): Effect.Effect<ReadonlyArray<A>, E> => Effect.all(effects, effects.length === 1 ? undefined : { concurrency })

/** A resource that a ping reaches. */
interface Target {
  readonly id: number
  readonly partition: number
}

/** The watched resources that a ping of a topic reaches. */
interface Reached {
  /** The resource of the topic: at most one. */
  readonly resources: ReadonlyArray<Target>
  /** The fragments of a page. */
  readonly fragments: ReadonlyArray<Target>
}

const nothing: Reached = { resources: [], fragments: [] }

/** Maximum of remembered topics. */
const maxRememberedTopics = 10_000

/** Maximum of resources of all remembered topics together. */
const maxRememberedTargets = 20_000

/**
 * Writes the row of a ping, and returns the watched resources of its topic that still need the ping.
 *
 * Publishers mostly ping the same topics. The resources that the last ping has reached begin to fetch while the row is written, if this runner
 * polls them: the outcome of a fetch waits for the rows of its own runner only. The statement of the row then finds resources that are
 * watched since.
 */
const makeRecordPing = Effect.gen(function*() {
  const pings = yield* Pings
  const store = yield* ResourceStore
  const { pingIfPolled } = yield* Partitions
  /** The resources that the last ping of a topic has reached. */
  const lastTargets = new BoundedMap<string, ReadonlyArray<Target>>(maxRememberedTopics, {
    touchOnGet: true,
    weightOf: ({ length }) => length,
    maxWeight: maxRememberedTargets
  })

  const find = ({ canonical, host }: Topic.Topic) =>
    Effect.map(store.findPinged(canonical, maxFragments), (pinged) => reachedBy(pinged, host))

  /** Returns the pinged ones. Actors begin in a later turn of the event loop, so that their fetch follows the time of the row. */
  const pingPolled = Effect.fnUntraced(function*(targets: ReadonlyArray<Target>) {
    const pinged = new Set<number>()
    for (const { id, partition } of targets) if (yield* pingIfPolled(partition, id)) pinged.add(id)
    return pinged
  })

  const remember = ({ canonical }: Topic.Topic, { fragments, resources }: Reached) => {
    const targets = [...resources, ...fragments]
    if (targets.length === 0) lastTargets.delete(canonical)
    else lastTargets.set(canonical, targets)
  }

  return Effect.fnUntraced(function*(given: string, { accountId, content, recorded = true }: PublishOptions) {
    const parsed = Topic.parse(given, "hub.url")
    const topic = parsed._tag === "Success" ? parsed.success : undefined
    if (!recorded) return topic === undefined ? nothing : yield* find(topic)
    const targets = topic === undefined || content !== undefined ? [] : lastTargets.get(topic.canonical) ?? []
    const pinged = yield* pingPolled(targets)
    const found = yield* Effect.onError(
      pings.record(
        {
          accountId,
          topic: given.slice(0, Topic.maxTopicLength),
          canonical: topic?.canonical,
          withContent: content !== undefined,
          mayWait: targets.length > 0 && pinged.size === targets.length
        },
        maxFragments
      ),
      // Publishers repeat a refused ping. Without a row, its topic is fetched once only.
      () => Effect.sync(() => topic !== undefined && lastTargets.delete(topic.canonical))
    )
    if (topic === undefined) return nothing
    // A subscription may have become active meanwhile, without a look at this row.
    const reached = isWatched(found) ? reachedBy(found, topic.host) : yield* find(topic)
    remember(topic, reached)
    return without(reached, pinged)
  })
})

const without = (reached: Reached, pinged: ReadonlySet<number>): Reached => {
  if (pinged.size === 0) return reached
  const isNew = ({ id }: Target) => !pinged.has(id)
  return { resources: reached.resources.filter(isNew), fragments: reached.fragments.filter(isNew) }
}

const isWatched = ({ fragments, resource }: PingedTopic): boolean =>
  resource?.isWatched === true || fragments.length > 0

const reachedBy = ({ fragments, resource }: PingedTopic, host: string): Reached => {
  const partition = Topic.partitionOf(host)
  return {
    resources: resource?.isWatched === true ? [{ id: resource.id, partition }] : [],
    fragments: fragments.map((id) => ({ id, partition }))
  }
}

/** Pings the owner of a resource, or pushes the document with the type of the last fetched one. */
const makeNotifyOwner = Effect.gen(function*() {
  const entries = yield* EntryStore
  const partitions = yield* Partitions
  const push = Effect.fnUntraced(function*({ id, partition }: Target, content: PushedDocument) {
    const fetched = yield* entries.document(id)
    const contentType = Option.match(fetched, {
      onNone: () => content.contentType,
      onSome: (document) => document.contentType
    })
    yield* partitions.push(partition, id, { contentType, body: content.body })
  })
  return (resource: Target, content: PushedDocument | undefined) =>
    content === undefined ? partitions.ping(resource.partition, resource.id) : Effect.catchTag(
      push(resource, content),
      "StoreError",
      warnOfStoreError("A pushed document did not reach its owner; the owner fetches later.")
    )
})

const tooMuchContent = Effect.fail(
  refuseUnavailable(
    "Too much content waits to be read. Please send it again, or leave it out, and the URL is fetched.",
    10
  )
)
