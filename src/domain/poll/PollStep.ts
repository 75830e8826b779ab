import type { Entry, Link } from "#domain/feed/Entry.ts"
import type { ReadOptions } from "#domain/ports/FeedReader.ts"
import type { PollWrite } from "#domain/ports/ResourceStore.ts"
import type { Syntax } from "#domain/ports/Selector.ts"
import type { Fragment } from "./Fragment.ts"
import type { IntervalBounds } from "./PollingInterval.ts"
import type { ResourceState } from "./Resource.ts"
import type { PollTrigger } from "./Status.ts"
import type { ConditionRefusal } from "./Validators.ts"

/** The circumstances of a poll, apart from the resource and the answer. */
export interface PollContext extends IntervalBounds {
  /** Epoch ms. */
  readonly now: number
  readonly trigger: PollTrigger
  /** The requested URL; the topic unless set. */
  readonly requestedUrl?: string
  /** The conditional request failed before the request that was answered. */
  readonly refusal?: ConditionRefusal | undefined
  /** 0 up to 1, see `nextFetch`. */
  readonly jitter: number
  /** See `ComparisonOptions` of `NewEntries`. */
  readonly followMovedIds?: boolean
}

/**
 * The next step of a poll: read or select in the document, or the result.
 *
 *   answer ─┬─ 304, same bytes ────────────► Unchanged
 *           ├─ 2xx, other bytes ─► Read it ─┬────────────────► Changed (news, or only a new signature)
 *           │                               └─► Select in it ─► Changed (likewise)
 *           └─ anything else ──────────────► Changed on entering the error state, else Unchanged
 */
export type PollStep =
  | PollResult
  | { readonly _tag: "Read"; readonly options: ReadOptions }
  | {
    readonly _tag: "Select"
    readonly fragment: Fragment
    readonly syntax: Syntax
    /** Links of the page around the selected fragment. */
    readonly links?: ReadonlyArray<Link>
  }

/** A poll either moves only the schedule, or writes a change. */
export type PollResult =
  | { readonly _tag: "Unchanged"; readonly state: ResourceState }
  | { readonly _tag: "Changed"; readonly change: PollWrite }

export const isSuccess = (status: number): boolean => status >= 200 && status < 300

/** The state of the resource after the poll. */
export const stateAfter = (result: PollResult): ResourceState =>
  result._tag === "Unchanged" ? result.state : result.change.state

/** A write without entries and without a notification. */
export const silentWrite = (state: ResourceState): PollWrite => ({
  state,
  entries: [],
  updated: [],
  announce: undefined
})

/** The result with another state, which is written. */
export const withState = (result: PollResult, state: ResourceState): PollResult => ({
  _tag: "Changed",
  change: result._tag === "Unchanged" ? silentWrite(state) : { ...result.change, state }
})

/** The new entries of a result, newest first. */
export const newEntriesOf = (result: PollResult): ReadonlyArray<Entry> =>
  result._tag === "Unchanged" ? [] : result.change.entries.toReversed()

/** Number of entries in a result, new and updated. */
export const countEntries = (result: PollResult): number =>
  result._tag === "Unchanged" ? 0 : result.change.entries.length + result.change.updated.length

/** Whether a result refers to the bytes of the answer. */
export const keepsBody = (result: PollResult): boolean =>
  result._tag === "Changed" && (
    result.change.wholeFeed !== undefined || result.change.document !== undefined ||
    result.change.announce?._tag === "Document"
  )
