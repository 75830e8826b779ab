import type { PushedDocument } from "#domain/poll/PushedDocument.ts"
import { Effect, Option } from "effect"
import { DocumentMemory } from "#domain/ports/DocumentMemory.ts"
import { EntryStore } from "#domain/ports/EntryStore.ts"
import { Pings } from "#domain/ports/Pings.ts"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import { refuseUnavailable } from "#domain/Refusal.ts"
import type { ResourceState } from "#domain/poll/Resource.ts"
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

  /** Writes all rows, and returns the calls to the owners. */
  const recordPings = Effect.fnUntraced(function*(topics: ReadonlyArray<string>, options: PublishOptions) {
    const pinged = yield* refuseStoreErrors(
      Effect.forEach(topics, (topic) => recordPing(topic, options), { concurrency })
    )
    return pinged.flatMap(({ fragments, resources }) => [
      ...resources.map((resource) => notifyOwner(resource, options.content)),
      ...fragments.map(({ id, partition }) => partitions.ping(partition, id))
    ])
  })

  /** The content counts as waiting until its owner has stored the new entries, or has dropped the content. */
  return Effect.fn("Hub.publish")((topics: ReadonlyArray<string>, options: PublishOptions = {}) =>
    Effect.uninterruptibleMask((restore) => {
      const bytes = options.content?.body.length ?? 0
      const reservation = exchanges.reserve("fat pings")
      const release = Effect.sync(() => reservation.release())
      if (!reservation.tryGrow(bytes)) return Effect.andThen(release, tooMuchContent)
      return restore(recordPings(topics, options)).pipe(
        Effect.onError(() => release),
        Effect.map((calls) => Effect.all(calls, { concurrency, discard: true })),
        Effect.flatMap((calls) => Effect.asVoid(Effect.forkIn(Effect.ensuring(restore(calls), release), scope)))
      )
    })
  )
})

/**
 * Writes the row of a ping, and returns the watched resources of its topic.
 *
 * The outcome of a ping is the outcome of its resource, or of a fragment where only fragments are watched.
 */
const makeRecordPing = Effect.gen(function*() {
  const pings = yield* Pings
  const findWatched = yield* makeFindWatched
  return Effect.fnUntraced(function*(given: string, { accountId, content, recorded }: PublishOptions) {
    const topic = Topic.parse(given, "hub.url")
    const { found, fragments, watched } = topic._tag === "Success" ? yield* findWatched(topic.success) : unwatched
    const [resource] = [...Option.toArray(watched), ...fragments, ...Option.toArray(found)]
    const isWatched = Option.isSome(watched) || fragments.length > 0
    if (recorded !== false) {
      yield* pings.record(
        {
          accountId,
          topic: given.slice(0, Topic.maxTopicLength),
          resourceId: resource?.id,
          withContent: content !== undefined
        },
        isWatched ? undefined : { _tag: "NoSubscriber" }
      )
      // A subscription may have become active meanwhile, without a look at this row.
      if (!isWatched && topic._tag === "Success") {
        const { fragments, watched } = yield* findWatched(topic.success)
        return { resources: Option.toArray(watched), fragments }
      }
    }
    return { resources: Option.toArray(watched), fragments }
  })
})

const unwatched = { found: Option.none<ResourceState>(), watched: Option.none<ResourceState>(), fragments: [] }

/** The resource of a topic, as found and if watched, and the watched fragments of a page. */
const makeFindWatched = Effect.map(
  ResourceStore,
  (resources) =>
    Effect.fnUntraced(function*({ canonical, host }: Topic.Topic) {
      const partition = Topic.partitionOf(host)
      const [found, fragments] = yield* Effect.all([
        resources.find(canonical),
        canonical.includes("#") ? Effect.succeed([]) : resources.findFragments(canonical, maxFragments)
      ], { concurrency: 2 })
      const watched = Option.filter(found, ({ subscribers }) => subscribers > 0)
      return { found, watched, fragments: fragments.map((id) => ({ id, partition })) }
    })
)

/** Pings the owner of a resource, or pushes the document with the type of the last fetched one. */
const makeNotifyOwner = Effect.gen(function*() {
  const entries = yield* EntryStore
  const partitions = yield* Partitions
  const push = Effect.fnUntraced(function*({ id, partition }: ResourceState, content: PushedDocument) {
    const fetched = yield* entries.document(id)
    const contentType = Option.match(fetched, {
      onNone: () => content.contentType,
      onSome: (document) => document.contentType
    })
    yield* partitions.push(partition, id, { contentType, body: content.body })
  })
  return (resource: ResourceState, content: PushedDocument | undefined) =>
    content === undefined ? partitions.ping(resource.partition, resource.id) : Effect.catchTag(
      push(resource, content),
      "StoreError",
      ({ message }) =>
        Effect.logWarning(`A pushed document did not reach its owner; the owner fetches later: ${message}`)
    )
})

const tooMuchContent = Effect.fail(
  refuseUnavailable(
    "Too much content waits to be read. Please send it again, or leave it out, and the URL is fetched.",
    10
  )
)
