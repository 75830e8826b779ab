import type { Entry } from "#domain/feed/Entry.ts"
import type { FeedHeader } from "#domain/feed/Feed.ts"
import type { Status } from "#domain/poll/Status.ts"

/** The bytes of a resource as pulled, decompressed and otherwise untouched. */
export interface Document {
  readonly contentType: string
  readonly body: Uint8Array
}

/** What happened to a resource, stored once for all its subscribers. */
export interface Notification {
  readonly id: number
  readonly resourceId: number
  readonly createdAt: number
  /** As it was then; `feed` is filled in for each subscriber. */
  readonly status: Omit<Status, "feed">
  readonly header?: FeedHeader
  readonly news: News
}

export type News =
  /** New (or recently updated) entries, newest first; and the feed that held them, when the hub face sends it. */
  | { readonly _tag: "Entries"; readonly entries: ReadonlyArray<Entry>; readonly whole?: Document }
  | { readonly _tag: "Document"; readonly document: Document }
  /** The resource entered its error state. */
  | { readonly _tag: "Failure" }

/** One notification on its way to one subscription: a row of the outbox. */
export interface Delivery {
  readonly id: number
  readonly subscriptionId: number
  /** 1, 2, 3 … of the subscription, without gaps: the order of delivery. */
  readonly sequence: number
  /** Balance of the account after this notification; the same at each try. */
  readonly credits: number
  /** Tries that have failed. */
  readonly attempt: number
  /** When the next try is due, epoch ms. */
  readonly dueAt: number
  /** Since when it could be tried, epoch ms: since it was recorded, or since whoever tries it was back from a long absence. */
  readonly waitsSince: number
  readonly notification: Notification
}

/** Why a try failed, for the log and the dropped row: HTTP status (0: no answer), a sentence, and ms until an answer had come. */
export interface AttemptResult {
  readonly code: number
  readonly message: string
  readonly latency?: number
}
