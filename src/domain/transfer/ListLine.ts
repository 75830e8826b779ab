import type { OwnHeader } from "#domain/delivery/OwnHeaders.ts"
import type { Retry } from "#domain/delivery/Retry.ts"
import type { Format } from "#domain/Subscription.ts"

/** A subscription as a list names it, unchecked. */
export interface ListedItem {
  readonly topic: string
  /** Callback or JID of the subscription; the importer's own target without one. */
  readonly endpoint?: string
  /** Query of a subscription to the null device (`?lease=3600`), mostly empty. */
  readonly nullDevice?: string
  readonly format?: Format
  readonly feedsOnly?: boolean
  readonly secret?: string
  readonly headers?: ReadonlyArray<OwnHeader>
  readonly retry?: Retry
  readonly paused?: boolean
  readonly labels: ReadonlyArray<string>
  /** The list is an export of the subscriber's own, which may hold credentials in URLs. */
  readonly isOwn?: boolean
}

/**
 * A line of a list. `line` counts the lines of the file from 1, and the items of a JSON list.
 *
 * `Skipped` lines are no subscriptions. A `Fault` ends the list: the rest cannot be read.
 */
export type ListLine =
  | { readonly _tag: "Item"; readonly line: number; readonly item: ListedItem }
  | { readonly _tag: "Refused"; readonly line: number; readonly topic?: string; readonly reason: string }
  | { readonly _tag: "Skipped"; readonly line: number; readonly reason: string }
  | { readonly _tag: "Fault"; readonly line: number; readonly reason: string }

/** Reads a list piece by piece. The work and the memory of a call are bounded by the length of its text. */
export interface ListReader {
  /** Returns the lines that are complete. */
  readonly push: (text: string) => ReadonlyArray<ListLine>
  /** Returns the last lines. */
  readonly end: () => ReadonlyArray<ListLine>
}

/** Maximum characters of a line or a JSON item. */
export const maxItemLength = 256 * 1024

export const tooLong = (line: number): ListLine => ({
  _tag: "Refused",
  line,
  reason: `The line has more than ${maxItemLength} characters.`
})
