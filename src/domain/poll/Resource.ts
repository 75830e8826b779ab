import { Struct } from "effect"
import type { FeedHeader } from "#domain/feed/Feed.ts"
import type { ServerProfile } from "./ServerProfile.ts"
import { toPlainText } from "#domain/render/PlainText.ts"
import { describeUnchanged, hasReason, isPaused, type Status } from "./Status.ts"

/** Kind of a resource, by its content and the fragment of its topic; `unknown` before the first document. */
export type ResourceKind = "unknown" | "feed" | "json" | "html-fragment" | "json-fragment" | "other"

/**
 * The state of a resource between two polls. Times are epoch milliseconds.
 *
 * The first group is written in bulk after every poll, the second group only with a change.
 */
export interface ResourceState {
  readonly id: number
  /** Canonical topic. */
  readonly url: string
  readonly host: string
  readonly partition: number

  readonly nextFetch: number
  readonly lastFetch?: number
  /** Seconds. */
  readonly period: number
  readonly code?: number
  /** Failed fetches in a row. */
  readonly failures: number

  readonly kind: ResourceKind
  readonly http?: string
  readonly lastParse?: number
  readonly etag?: string
  readonly lastModified?: string
  /** Last unconditional GET; one a day is sent. */
  readonly lastUnconditionalFetch?: number
  /** Learned habits of the server. */
  readonly serverProfile?: ServerProfile
  /** The xxh64 of the last readable body, fetched or pushed. */
  readonly signature?: bigint
  /** In the error state: its status-only notification has been sent. */
  readonly inError: boolean
  readonly header?: FeedHeader
  /** Packed ids, see `SeenIds`. */
  readonly seen: Uint8Array
  /** Packed 8-byte hashes of the parts of the last document: a feed's entry slices (two-stage reading), or the one selected fragment. */
  readonly slices: Uint8Array
  /** The lasting rule for entry ids of this resource, see `EntryId`. */
  readonly idPolicy?: unknown
  readonly generatedIds: boolean
  readonly entriesSinceMaintenance: number
  readonly lastMaintenanceAt?: number
  readonly velocity?: number
  readonly popularity?: number
  readonly pornRank?: number
  readonly bozoRank?: number
  /** Active subscriptions at the last load; counted up to `maxCountedSubscribers`. */
  readonly subscribers: number
  /** The WebSub face has active subscriptions. The bytes of the feed are then kept with its news. */
  readonly hasHubSubscribers?: true
  /** The WebSub face has subscriptions, and no account has any. */
  readonly strangersOnly?: true
  /** Networks of the clients that asked for the subscriptions; only where strangers alone watch. Absent where an asker is unknown, or for many askers. */
  readonly askers?: ReadonlyArray<string>
}

/** Networks of clients among which the fetches of a resource are divided, at most. With more askers, no single one matters. */
export const maxAskers = 8

/** Fields for the next poll only. */
const internalFields = [
  "url",
  "host",
  "partition",
  "failures",
  "etag",
  "lastModified",
  "lastUnconditionalFetch",
  "serverProfile",
  "signature",
  "inError",
  "seen",
  "slices",
  "idPolicy",
  "subscribers",
  "hasHubSubscribers",
  "strangersOnly",
  "askers"
] as const satisfies ReadonlyArray<keyof ResourceState>

/** The public fields of a resource. */
export type ResourceProfile = Omit<ResourceState, typeof internalFields[number]>

export const resourceProfileOf = (state: ResourceState): ResourceProfile => Struct.omit(state, internalFields)

/** The state with the subscribers of a later load. */
export const withSubscribers = (
  { askers: _, hasHubSubscribers: __, strangersOnly: ___, ...state }: ResourceState,
  { askers, hasHubSubscribers, strangersOnly, subscribers }: Pick<
    ResourceState,
    "askers" | "hasHubSubscribers" | "strangersOnly" | "subscribers"
  >
): ResourceState => ({
  ...state,
  subscribers,
  ...(hasHubSubscribers === undefined ? {} : { hasHubSubscribers }),
  ...(strangersOnly === undefined ? {} : { strangersOnly }),
  ...(askers === undefined ? {} : { askers })
})

/** Upper bound of the counted subscriptions. A full count of a very popular resource would cost more than its load. */
export const maxCountedSubscribers = 1_000

/** Period in seconds before the first fetch, unless the subscription names one. */
export const initialPeriodSeconds = 60

/** The fields that an unchanged poll moves. */
export interface UnchangedPoll {
  readonly id: number
  readonly nextFetch: number
  readonly lastFetch: number
  readonly period: number
  readonly code: number
  readonly failures: number
}

/**
 * Whether the last fetch found the document of an earlier one.
 *
 * Such a fetch writes the schedule alone, so that `http` still describes the earlier fetch.
 */
const isUnchanged = ({ code, http, lastFetch, lastParse }: Pick<Status, "code" | "http" | "lastFetch" | "lastParse">) =>
  lastFetch !== undefined && lastParse !== undefined && lastFetch > lastParse &&
  code !== undefined && (code === 304 || code >= 200 && code < 300) && !hasReason(http) && !isPaused(http)

/** The status for subscribers of `topic`, in the spelling of the subscriber. An unchanged document has the code 304. */
export const statusOf = (state: Omit<ResourceProfile, "id" | "kind">, topic: string): Status => {
  const status: { -readonly [K in keyof Status]: Status[K] } = { feed: topic, period: state.period }
  if (state.header?.title !== undefined) status.title = toPlainText(state.header.title)
  if (state.code !== undefined) status.code = state.code
  if (state.http !== undefined) status.http = state.http
  if (isUnchanged(state)) {
    status.code = 304
    status.http = describeUnchanged(state.period)
  }
  status.nextFetch = state.nextFetch
  if (state.lastFetch !== undefined) status.lastFetch = state.lastFetch
  if (state.lastParse !== undefined) status.lastParse = state.lastParse
  if (state.lastMaintenanceAt !== undefined) status.lastMaintenanceAt = state.lastMaintenanceAt
  status.entriesCountSinceLastMaintenance = state.entriesSinceMaintenance
  if (state.velocity !== undefined) status.velocity = state.velocity
  if (state.popularity !== undefined) status.popularity = state.popularity
  if (state.pornRank !== undefined) status.pornRank = state.pornRank
  if (state.bozoRank !== undefined) status.bozoRank = state.bozoRank
  if (state.generatedIds) status.generatedIds = true
  return status
}
