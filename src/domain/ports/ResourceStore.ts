import { Context, type Effect, type Option } from "effect"
import type { Entry } from "#domain/feed/Entry.ts"
import type { Delivery, Document } from "#domain/delivery/Notification.ts"
import type { ResourceProfile, ResourceState, UnchangedPoll } from "#domain/poll/Resource.ts"
import type { Format } from "#domain/Subscription.ts"
import type { StoreError } from "./StoreError.ts"

/** The writes of a changed poll, in one transaction. */
export interface PollWrite {
  /** The next state. */
  readonly state: ResourceState
  /** New entries, oldest first. */
  readonly entries: ReadonlyArray<Entry>
  /** Known entries with new content. */
  readonly updated: ReadonlyArray<Entry>
  /**
   * New document of a resource other than a feed, announced or not, for `EntryStore.document`. The limit is `maxStoredLength` bytes, as for
   * the JSON of each entry. A larger one fails the whole write as a `Defect`.
   */
  readonly document?: Document
  readonly announce: Announcement | undefined
  /**
   * The fetched feed of the announced entries, for subscriptions of the hub face; without it, they get no notification. Stored with the
   * notification when such a subscription exists. At most `maxStoredLength` bytes.
   */
  readonly wholeFeed?: Document
  /** The write may wait some ms, to share a statement with others: no publisher and no subscriber waits for this poll. */
  readonly mayWait?: boolean
}

/** Maximum of bytes of a stored document, or of an entry as JSON. */
export const maxStoredLength = 8 * 1024 * 1024

/** Maximum of bytes of the entries and notifications of a resource. Waiting deliveries keep theirs up to twice as many. */
export const MaxResourceBytes = Context.Reference<number>("windhover/domain/ports/ResourceStore/MaxResourceBytes", {
  defaultValue: () => 64 * 1024 * 1024
})

/**
 * Content of a notification; undefined in a `PollWrite` without one (a first fetch, a new header).
 *
 * Recording a write twice announces once, so that a call with a lost answer can be repeated.
 */
export type Announcement =
  /**
   * `ids` of entries of this write, newest first. Entries that the store has with the same content are not announced.
   */
  | { readonly _tag: "Entries"; readonly ids: ReadonlyArray<string> }
  /** Announced only for a new signature. Stored as `document`, too. */
  | { readonly _tag: "Document"; readonly document: Document }
  /** Announced only when the resource enters its error state. */
  | { readonly _tag: "Failure" }

/** A resource in the view of one subscriber. */
export interface SubscribedResource {
  readonly resource: ResourceProfile
  readonly format?: Format
  /** The newest entries, in the order of `EntryStore.page`, immutable. Absent above 256 kB, which only `EntryStore.page` reads. */
  readonly newest?: ReadonlyArray<Entry>
}

/** The resources that a ping of a topic reaches. */
export interface PingedTopic {
  /** The resource of the topic itself. */
  readonly resource?: { readonly id: number; readonly isWatched: boolean }
  /** Ids of the watched fragments of the topic, in ascending order. Empty for a topic that is a fragment. */
  readonly fragments: ReadonlyArray<number>
}

/** The alarms of a partition as it starts. */
export interface PartitionAlarms {
  /** Ids in ascending order. */
  readonly ids: Float64Array
  /** Due times (epoch ms), index by index. */
  readonly dueAt: Float64Array
  /** Ids of the resources whose last fetch failed. */
  readonly failing: Float64Array
}

export class ResourceStore extends Context.Service<ResourceStore, {
  /** By canonical topic. */
  readonly find: (url: string) => Effect.Effect<Option.Option<ResourceState>, StoreError>
  /**
   * A canonical topic in the view of an account: its profile, the format of the account's oldest subscription, and its `entryCount` newest
   * entries at most. None without a subscription. Beyond a thousand subscriptions, an old one stands for the oldest. Cheaper than `find`.
   */
  readonly findSubscribed: (
    accountId: number,
    url: string,
    entryCount: number
  ) => Effect.Effect<Option.Option<SubscribedResource>, StoreError>
  /** What a ping of a canonical topic reaches, with at most `maxFragments` fragments. Batched over callers, and cheaper than `find`. */
  readonly findPinged: (topic: string, maxFragments: number) => Effect.Effect<PingedTopic, StoreError>
  /** By id; the loads of some milliseconds are one query. */
  readonly load: (id: number) => Effect.Effect<Option.Option<ResourceState>, StoreError>
  /**
   * Alarms of a partition: the resources with an active subscription. A resource that had one, and has only a pending one now, may be among
   * these: its actor finds no subscriber, and sets no further alarm.
   */
  readonly alarms: (partition: number) => Effect.Effect<PartitionAlarms, StoreError>
  /**
   * Records an unchanged poll in memory, and in bulk in the database within 2 s. This process sees it at once. A poll that a crash has lost
   * is repeated. A poll older than the last written fetch has no effect.
   */
  readonly touch: (polled: UnchangedPoll) => Effect.Effect<void>
  /**
   * Records a changed poll in one transaction, batched over actors: state, entries, notification, credits, and one delivery for each active,
   * unexpired subscription in order of ids. Subscriptions of the hub face get documents only, no failures. Returns the due deliveries, which
   * share one `Notification`. An unknown id writes no row. The oldest entries and notifications beyond `MaxResourceBytes` are deleted.
   */
  readonly record: (change: PollWrite) => Effect.Effect<ReadonlyArray<Delivery>, StoreError>
  /**
   * Announces the first document of a resource to its active subscriptions of the hub face, and returns their due deliveries. Streams do not
   * read this notification. A repeated call announces the document again.
   */
  readonly announceFirst: (
    state: ResourceState,
    document: Document
  ) => Effect.Effect<ReadonlyArray<Delivery>, StoreError>
  /** Writes the buffered polls. */
  readonly flush: Effect.Effect<void, StoreError>
}>()("windhover/domain/ports/ResourceStore") {}
