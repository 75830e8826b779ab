import type { Entry } from "#domain/feed/Entry.ts"
import type { FeedHeader } from "#domain/feed/Feed.ts"
import type { Status } from "#domain/poll/Status.ts"
import type { FailureReason } from "./FailureReason.ts"

/** The decompressed, otherwise unchanged bytes of a resource. */
export interface Document {
  readonly contentType: string
  readonly body: Uint8Array
}

/** A change of a resource, stored once for all its subscriptions. */
export interface Notification {
  readonly id: number
  readonly resourceId: number
  readonly createdAt: number
  /** The status at that time; `feed` is filled in for each subscriber. */
  readonly status: Omit<Status, "feed">
  readonly header?: FeedHeader
  readonly news: News
}

export type News =
  /** New or recently updated entries, newest first, and their feed for the hub face. */
  | { readonly _tag: "Entries"; readonly entries: ReadonlyArray<Entry>; readonly wholeFeed?: Document }
  | { readonly _tag: "Document"; readonly document: Document }
  /** The resource entered its error state. */
  | { readonly _tag: "Failure" }

/** One notification on its way to one subscription: a row of the outbox. */
export interface Delivery {
  readonly id: number
  readonly subscriptionId: number
  /** The order of delivery: 1, 2, 3 … in the subscription, without gaps. */
  readonly sequence: number
  /** Balance of the account after this notification; equal in all attempts. */
  readonly credits: number
  /** Failed attempts, the step of the retry schedule. */
  readonly attempt: number
  /** Time of the next attempt, epoch ms. */
  readonly dueAt: number
  /** Milliseconds that the callback asked to wait for the next attempt, see `requestedWait`. */
  readonly requestedWait?: number
  /** Begin of the waiting, epoch ms: when it was recorded, or the end of the last outage. */
  readonly waitsSince: number
  /** With the entries of this part, if the notification was split. */
  readonly notification: Notification
  /** One of several parts of a notification that was too large for the callback. */
  readonly isPart?: true
}

/** The result of an attempt, for the log and the outbox. */
export interface AttemptResult {
  /** HTTP status; 0 without one. */
  readonly code: number
  /** A sentence, without the answer. */
  readonly message: string
  /** Absent for a success. */
  readonly reason?: FailureReason
  /** The beginning of the body of a bad answer, on one line, without control characters. */
  readonly answer?: string
  /** Milliseconds. */
  readonly latency?: number
  /** Length of the body that was sent. */
  readonly bytes?: number
}

/** The result as one text. */
export const attemptText = ({ answer, code, message }: Pick<AttemptResult, "answer" | "code" | "message">): string => {
  if (answer === undefined) return message
  const excerpt = answer.slice(0, excerptLength)
  return message === statusSentence(code) ? `${message.slice(0, -1)}: ${excerpt}` : `${message} Its answer: ${excerpt}`
}

/** Characters of an answer within a text. */
const excerptLength = 500

export const statusSentence = (code: number): string => `The callback answered ${code}.`

/** The sentence of a notification that an XMPP server has confirmed. */
export const acceptedSentence = "The XMPP server accepted the message."
