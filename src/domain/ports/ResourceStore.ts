import { Context, type Effect, type Option } from "effect"
import type { Entry } from "#domain/feed/Entry.ts"
import type { Delivery, Document } from "#domain/delivery/Notification.ts"
import type { ResourceProfile, ResourceState, UnchangedPoll } from "#domain/poll/Resource.ts"
import type { Format } from "#domain/Subscription.ts"
import type { StoreError } from "./StoreError.ts"

/** Everything that one changed poll writes, in one transaction. */
export interface PollWrite {
  /** The next state. */
  readonly state: ResourceState
  /** All entries that are new to the store, oldest first. */
  readonly entries: ReadonlyArray<Entry>
  /** Known entries whose content replaces the stored one. */
  readonly updated: ReadonlyArray<Entry>
  /**
   * New representation of a resource that is no feed, whether it is announced or not; what `EntryStore.document` gives from now on.
   * At most `maxStoredLength` bytes, as the JSON of each entry: beyond it the change fails as a `defect`, and nothing of it is written.
   */
  readonly document?: Document
  readonly announce: Announcement | undefined
  /**
   * The feed whose entries are announced, as pulled: subscriptions of the hub face get it, and get nothing without it.
   * Kept with the notification when there is such a subscription. At most `maxStoredLength` bytes, as above.
   */
  readonly whole?: Document
}

/** Bytes of a stored document, or of an entry as JSON, at most. */
export const maxStoredLength = 8 * 1024 * 1024

/**
 * What subscribers are told; `undefined` in a `Change` tells nobody (a first fetch, a new header).
 *
 * A change that was recorded twice announces once, so that a call whose answer was lost can be made again.
 */
export type Announcement =
  /**
   * `ids` of entries of this change, newest first. Of the new ones only those are announced that the store did not have,
   * of the updated ones those whose stored content differed.
   */
  | { readonly _tag: "Entries"; readonly ids: ReadonlyArray<string> }
  /** Not announced when the stored state has the signature of the new one already. Kept as `document`, too. */
  | { readonly _tag: "Document"; readonly document: Document }
  /** Not announced when the stored state and the new one are both in the error state. */
  | { readonly _tag: "Failure" }

/** A resource as one of its subscribers sees it. */
export interface SubscribedResource {
  readonly resource: ResourceProfile
  readonly format?: Format
}

export class ResourceStore extends Context.Service<ResourceStore, {
  /** By canonical topic. */
  readonly find: (url: string) => Effect.Effect<Option.Option<ResourceState>, StoreError>
  /**
   * What an account sees of a canonical topic that it has subscribed to, and the format of its oldest subscription; none without one. Of more than
   * a thousand, the oldest of some counts.
   * A part of what `find` gives, at a part of its cost.
   */
  readonly findSubscribed: (
    accountId: number,
    url: string
  ) => Effect.Effect<Option.Option<SubscribedResource>, StoreError>
  /** Ids of what is watched in a page by fragments (`page`: a canonical topic without one), the smallest first, `limit` at most. */
  readonly findFragments: (page: string, limit: number) => Effect.Effect<ReadonlyArray<number>, StoreError>
  /** By id; loads of all actors that are awake within some milliseconds are one query. */
  readonly load: (id: number) => Effect.Effect<Option.Option<ResourceState>, StoreError>
  /** The alarms of a partition: every resource with an active subscription, and when it is due (epoch ms); index by index, by id. */
  readonly alarms: (
    partition: number
  ) => Effect.Effect<{ readonly ids: Float64Array; readonly dueAt: Float64Array }, StoreError>
  /**
   * An unchanged poll: kept in memory and written in bulk within 2 s; `find`, `load` and `alarms` of this process see it at once.
   * Lost by a crash, it is polled again: harmless. One that is older than the last written fetch changes nothing.
   */
  readonly touch: (polled: UnchangedPoll) => Effect.Effect<void>
  /**
   * A changed poll: state, entries, the notification, one delivery a subscription and the credits, in one transaction; batched over actors.
   * Active subscriptions get one each, whose lease has not ended, in order of their ids. Those of the hub face only where there is a document
   * to send (no failures), and while they are pending as well: it waits until they are active. Returns the deliveries, ready to send (due now);
   * they share one `Notification`. Nothing is written for an id that is not stored.
   */
  readonly record: (change: PollWrite) => Effect.Effect<ReadonlyArray<Delivery>, StoreError>
  /** Writes what `touch` has kept. */
  readonly flush: Effect.Effect<void, StoreError>
}>()("windhover/domain/ports/ResourceStore") {}
