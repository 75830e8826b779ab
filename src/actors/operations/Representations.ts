import { Effect, Option } from "effect"
import type { Entry } from "#domain/feed/Entry.ts"
import { EntryStore } from "#domain/ports/EntryStore.ts"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import { type ResourceProfile, statusOf } from "#domain/poll/Resource.ts"
import { badParameter, NotSubscribed, refuse } from "#domain/Refusal.ts"
import type { Format, Subscription } from "#domain/Subscription.ts"
import { quote } from "#domain/Topic.ts"
import type { Representation, RetrieveRequest } from "./Hub.ts"
import { refuseStoreErrors } from "./StoreRefusal.ts"

/** The part of a retrieve request that selects entries. */
export type EntrySelection = Pick<RetrieveRequest, "count" | "before" | "after" | "ids" | "order">

/** Reads the stored representation of resources. */
export const makeRepresentations = Effect.gen(function*() {
  const resources = yield* ResourceStore
  const entries = yield* EntryStore

  /** Entries of these resources together, newest first. */
  const readEntries = Effect.fnUntraced(
    function*({ after, before, count, ids, order }: EntrySelection, resourceIds: ReadonlyArray<number>) {
      if (ids !== undefined) return yield* refuseStoreErrors(entries.findById(resourceIds, ids))
      if (count === 0) return []
      const page = yield* refuseStoreErrors(entries.page({
        resourceIds,
        count,
        ...(before === undefined ? {} : { before }),
        ...(after === undefined ? {} : { after }),
        ...(order === undefined ? {} : { order })
      }))
      if (page._tag === "Page") return page.entries
      return yield* badParameter(
        page.parameter,
        `${page.parameter} names no entry that is stored here: received ${
          quote(page.id)
        }; the id of an entry of this feed is needed.`
      )
    }
  )

  /** `newest` are the selected entries, if known. */
  const readResource = Effect.fnUntraced(function*(
    resource: ResourceProfile,
    format: Format | undefined,
    topic: string,
    selection: EntrySelection,
    newest?: ReadonlyArray<Entry>
  ) {
    const document = resource.kind === "feed" || selection.count === 0
      ? Option.none()
      : yield* refuseStoreErrors(entries.document(resource.id))
    return {
      status: statusOf(resource, topic),
      ...(resource.header === undefined ? {} : { header: resource.header }),
      entries: newest ?? (yield* readEntries(selection, [resource.id])).map(({ entry }) => entry),
      ...(Option.isNone(document) ? {} : { document: document.value }),
      ...(format === undefined ? {} : { format })
    } satisfies Representation
  })

  /** `topic` as the subscriber spells it. */
  const readSubscribed = Effect.fnUntraced(function*(subscription: Subscription, topic: string, count: number) {
    const resource = yield* refuseStoreErrors(resources.load(subscription.resourceId))
    if (Option.isNone(resource)) {
      return yield* refuseNotSubscribed(`There is no subscription to ${quote(topic)} any more.`)
    }
    return yield* readResource(resource.value, subscription.format, topic, { count })
  })

  return { readEntries, readResource, readSubscribed }
})

export const refuseNotSubscribed = (message: string) => refuse(new NotSubscribed({ message }))
