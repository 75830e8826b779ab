/** A link of a feed or entry. */
export interface FeedLink {
  readonly title?: string
  readonly href: string
  readonly rel: string
  readonly type?: string
}

/** Links by their relation, such as `alternate`. */
export type FeedLinks = { readonly [relation: string]: ReadonlyArray<FeedLink> }

/** Status of a watched resource. Times are seconds since 1970; unknown fields are absent. */
export interface FeedStatus {
  /** The topic as subscribed. */
  readonly feed: string
  readonly title?: string
  /** Last HTTP status of the publisher; 0 without an answer. */
  readonly code?: number
  /** The last fetch in words. */
  readonly http?: string
  readonly nextFetch?: number
  /** Seconds between two polls. */
  readonly period?: number
  readonly lastFetch?: number
  readonly lastParse?: number
  readonly lastMaintenanceAt?: number
  readonly entriesCountSinceLastMaintenance?: number
  readonly velocity?: number
  readonly popularity?: number
  readonly pornRank?: number
  readonly bozoRank?: number
  readonly generatedIds?: boolean
}

/** Author of an entry. */
export interface FeedActor {
  readonly displayName?: string
  readonly image?: string
  readonly permalinkUrl?: string
  readonly id?: string
  readonly objectType?: string
  readonly title?: string
}

/** The feed from which an entry of a collection comes. */
export interface FeedSource {
  readonly id?: string
  readonly title?: string
  readonly updated?: number
  readonly permalinkUrl?: string
  readonly standardLinks?: FeedLinks
}

/** An entry. Title and summary come from the publisher: escape them before display. Times are seconds since 1970. */
export interface FeedItem {
  readonly id: string
  readonly published?: number
  readonly updated?: number
  readonly title?: string
  readonly content?: string
  readonly summary?: string
  readonly permalinkUrl?: string
  readonly standardLinks?: FeedLinks
  readonly verb?: string
  readonly categories?: ReadonlyArray<string>
  readonly geo?: { readonly type: "point"; readonly coordinates: ReadonlyArray<number> }
  readonly actor?: FeedActor
  readonly object?: { readonly [field: string]: unknown }
  readonly source?: FeedSource
  readonly language?: string
}

/** A notification in JSON. Without `items`, the resource has entered its error state, and `status` tells the reason. */
export interface Feed {
  readonly status: FeedStatus
  readonly title: string
  readonly subtitle?: string
  readonly updated: number | null
  readonly id: string
  readonly standardLinks?: FeedLinks
  /** New entries, newest first. */
  readonly items?: ReadonlyArray<FeedItem>
}

/** The feed of a JSON text; undefined for other JSON and for text that is no JSON. */
export const parseFeed = (text: string): Feed | undefined => {
  const value = parseJson(text)
  return isFeed(value) ? value : undefined
}

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const isFeed = (value: unknown): value is Feed =>
  isObject(value) && isObject(value["status"]) && typeof value["status"]["feed"] === "string" &&
  typeof value["title"] === "string" && typeof value["id"] === "string" &&
  (value["items"] === undefined || Array.isArray(value["items"]) && value["items"].every(isItem))

const isItem = (value: unknown): boolean => isObject(value) && typeof value["id"] === "string"

const isObject = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value)
