import { Struct } from "effect"
import type { FeedHeader } from "#domain/feed/Feed.ts"
import type { ServerProfile } from "./ServerProfile.ts"
import type { Status } from "./Status.ts"

/** What is watched, by content and by the fragment of the topic. `unknown` until the first document was read. */
export type ResourceKind = "unknown" | "feed" | "json" | "html-fragment" | "json-fragment" | "other"

/**
 * Everything a resource's actor knows and needs for its next poll. Times are epoch milliseconds.
 *
 * The first group is written at every poll, lazily and in bulk; the second only when something changed.
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
  /** Last GET without validators; one a day is sent. */
  readonly lastUnconditionalFetch?: number
  /** What the answers of many days have taught about its server. */
  readonly serverProfile?: ServerProfile
  /** xxh64 of the last body that was read with success, fetched or pushed. */
  readonly signature?: bigint
  /** In the error state: its status-only notification has been sent. */
  readonly inError: boolean
  readonly header?: FeedHeader
  /** Packed ids, see `SeenIds`. */
  readonly seen: Uint8Array
  /** Packed 8-byte hashes of the parts of the last document: a feed's entry slices (two-stage reading), or the one selected fragment. */
  readonly slices: Uint8Array
  /** How entry ids are made for this resource; sticky, see `EntryId`. */
  readonly idPolicy?: unknown
  readonly generatedIds: boolean
  readonly entriesSinceMaintenance: number
  readonly lastMaintenanceAt?: number
  readonly velocity?: number
  readonly popularity?: number
  readonly pornRank?: number
  readonly bozoRank?: number
  /** Active subscriptions, when the state was loaded; counted up to `maxCounted`. */
  readonly subscribers: number
  /** There are subscriptions of the hub face, pending ones included: they get a feed as it is, so that its bytes are kept with its news. */
  readonly hasHubSubscribers?: true
}

/** What only the next poll of a resource needs. */
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
  "hasHubSubscribers"
] as const satisfies ReadonlyArray<keyof ResourceState>

/** What is told of a resource. */
export type ResourceProfile = Omit<ResourceState, typeof internalFields[number]>

export const resourceProfileOf = (state: ResourceState): ResourceProfile => Struct.omit(state, internalFields)

/** The state with the subscribers of one that was loaded later. */
export const withSubscribers = (
  { hasHubSubscribers: _, ...state }: ResourceState,
  { hasHubSubscribers, subscribers }: Pick<ResourceState, "hasHubSubscribers" | "subscribers">
): ResourceState => ({
  ...state,
  subscribers,
  ...(hasHubSubscribers === undefined ? {} : { hasHubSubscribers: hasHubSubscribers })
})

/** Counting all subscriptions of a very popular resource at each load would cost more than the load. */
export const maxCountedSubscribers = 1_000

/** Seconds between polls of a resource that was never fetched. */
export const initialPeriodSeconds = 900

/** The hot part: what an unchanged poll moves. */
export interface UnchangedPoll {
  readonly id: number
  readonly nextFetch: number
  readonly lastFetch: number
  readonly period: number
  readonly code: number
  readonly failures: number
}

/** The status that subscribers of `topic` (as they wrote it) see. */
export const statusOf = (state: Omit<ResourceProfile, "id" | "kind">, topic: string): Status => {
  const status: { -readonly [K in keyof Status]: Status[K] } = { feed: topic, period: state.period }
  if (state.header?.title !== undefined) status.title = state.header.title.value
  if (state.code !== undefined) status.code = state.code
  if (state.http !== undefined) status.http = state.http
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
