import type { PushedDocument } from "#domain/poll/PushedDocument.ts"
import { Effect, Option } from "effect"
import { EntryStore } from "#domain/ports/EntryStore.ts"
import { Pings } from "#domain/ports/Pings.ts"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import { refuse, Unavailable } from "#domain/Refusal.ts"
import type { ResourceState } from "#domain/poll/Resource.ts"
import * as Topic from "#domain/Topic.ts"
import type { PublishOptions } from "./Hub.ts"
import { refuseStoreErrors } from "./Refusing.ts"
import { Partitions } from "#actors/cluster/Partitions.ts"

/** Fragments of one page that a ping of the page reaches; the others find its news by themselves. */
const maxFragments = 200

/** Bytes of documents that publishers have sent along and that wait, of all of them together. */
const maxHeld = 64 * 1024 * 1024

const tooMuch = Effect.fail(
  refuse(
    new Unavailable({
      message: "Too much content waits to be read. Please send it again, or leave it out, and the URL is fetched.",
      retryAfter: 10
    })
  )
)

const nothing = { found: Option.none<ResourceState>(), itself: Option.none<ResourceState>(), fragments: [] }

/** What publishers say: that there is news, or what they are. See `Hub.publish`. */
export const makePublish = Effect.gen(function*() {
  const resources = yield* ResourceStore
  const entries = yield* EntryStore
  const pings = yield* Pings
  const partitions = yield* Partitions
  const scope = yield* Effect.scope

  /** A document has the type that the fetched one had. */
  const push = Effect.fnUntraced(function*({ id, partition }: ResourceState, content: PushedDocument) {
    const fetched = yield* entries.document(id)
    const contentType = Option.match(fetched, {
      onNone: () => content.contentType,
      onSome: (document) => document.contentType
    })
    yield* partitions.push(partition, id, { contentType, body: content.body })
  })

  /** What is watched of a topic: the resource itself, and where it is a page its fragments. */
  const watchedOf = Effect.fnUntraced(function*({ canonical, host }: Topic.Topic) {
    const partition = Topic.partitionOf(host)
    const [found, inPage] = yield* Effect.all([
      resources.find(canonical),
      canonical.includes("#") ? Effect.succeed([]) : resources.findFragments(canonical, maxFragments)
    ], { concurrency: 2 })
    const itself = Option.filter(
      found,
      ({ hasHubSubscribers, subscribers }) => subscribers > 0 || hasHubSubscribers === true
    )
    return { found, itself, fragments: inPage.map((id) => ({ id, partition })) }
  })

  /** The row of a ping: its outcome is that of the resource, or of a fragment where only those are watched. Gives what somebody watches. */
  const noteDown = Effect.fnUntraced(function*(given: string, { accountId, content, recorded }: PublishOptions) {
    const topic = Topic.parse(given, "hub.url")
    const { found, fragments, itself } = topic._tag === "Success" ? yield* watchedOf(topic.success) : nothing
    const [resource] = [...Option.toArray(itself), ...fragments, ...Option.toArray(found)]
    const watched = Option.isSome(itself) || fragments.length > 0
    if (recorded !== false) {
      yield* pings.record(
        {
          accountId,
          topic: given.slice(0, Topic.maxTopicLength),
          resourceId: resource?.id,
          withContent: content !== undefined
        },
        watched ? undefined : { _tag: "NoSubscriber" }
      )
    }
    return { itself: Option.toArray(itself), fragments }
  })

  const passOn = (resource: ResourceState, content: PushedDocument | undefined) =>
    content === undefined ? partitions.ping(resource.partition, resource.id) : Effect.catchTag(
      push(resource, content),
      "StoreError",
      (error) => Effect.logWarning(`a ping could not be passed on yet: ${error.message}`)
    )

  /** The rows are written; what is left is to tell the owners. */
  const noteAll = Effect.fnUntraced(function*(topics: ReadonlyArray<string>, publishing: PublishOptions) {
    const pinged = yield* refuseStoreErrors(
      Effect.forEach(topics, (topic) => noteDown(topic, publishing), { concurrency: 8 })
    )
    return pinged.flatMap(({ fragments, itself }) => [
      ...itself.map((resource) => passOn(resource, publishing.content)),
      ...fragments.map(({ id, partition }) => partitions.ping(partition, id))
    ])
  })

  let held = 0
  /** Content keeps its room until its owner has stored what is new in it, or has let go of it. */
  const publish = Effect.fn("Hub.publish")((topics: ReadonlyArray<string>, publishing: PublishOptions = {}) =>
    Effect.uninterruptibleMask((restore) => {
      const bytes = publishing.content?.body.length ?? 0
      if (held + bytes > maxHeld) return tooMuch
      held += bytes
      const leave = Effect.sync(() => void (held -= bytes))
      return restore(noteAll(topics, publishing)).pipe(
        Effect.onError(() => leave),
        Effect.map((calls) => Effect.all(calls, { concurrency: 8, discard: true })),
        Effect.flatMap((calls) => Effect.asVoid(Effect.forkIn(Effect.ensuring(restore(calls), leave), scope)))
      )
    })
  )

  return publish
})
