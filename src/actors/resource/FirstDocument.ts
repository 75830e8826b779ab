import { Effect, Option, Result } from "effect"
import { whenAvailable } from "#actors/runtime/StoreRetry.ts"
import type { ResourceState } from "#domain/poll/Resource.ts"
import type { Fetched, FetchError } from "#domain/ports/Fetcher.ts"
import { maxStoredLength } from "#domain/ports/ResourceStore.ts"
import type { PartitionContext, State } from "./Resource.ts"
import type { PollServices } from "./ResourcePoll.ts"

/**
 * Keeps the first document for the hub face, until the pings and pushes that came before its record are known.
 *
 * A subscription of the hub face is active before the first fetch. A publisher that pings between both has news for the subscriber, although
 * the fetch finds nothing to compare with. So the document itself is the news.
 */
export const keepFirstDocument = Effect.fnUntraced(function*(
  { entries }: PollServices,
  state: State,
  before: ResourceState,
  result: Result.Result<Fetched, FetchError>
) {
  const { id, kind, signature } = state.resource
  if (signature === undefined || before.hasHubSubscribers !== true || Result.isFailure(result)) return
  const { body, headers } = result.success
  const document = kind === "feed"
    ? { contentType: headers["content-type"] ?? "application/xml", body }
    : Option.getOrUndefined(yield* whenAvailable(entries.document(id)))
  if (document === undefined || document.body.length > maxStoredLength) return
  // A feed that is too long to be stored is released already, and so has no bytes here.
  if (kind === "feed" && body.length === 0) return
  state.firstDocument = document
})

/** Announces the first document to the hub face if a ping or push came before its record, and releases the document. */
export const announceFirst = Effect.fnUntraced(
  function*({ store }: PollServices, state: State, { awaitLease, deliver }: PartitionContext) {
    const { firstDocument, isPingedEarly, resource } = state
    state.firstDocument = undefined
    state.isPingedEarly = false
    if (!isPingedEarly || firstDocument === undefined) return
    const deliveries = yield* whenAvailable(Effect.andThen(awaitLease, store.announceFirst(resource, firstDocument)))
    yield* Effect.forEach(deliveries, deliver, { discard: true })
  }
)
