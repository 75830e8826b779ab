import { Context, type Effect, type Option } from "effect"
import type { Entry } from "#domain/feed/Entry.ts"
import type { Document } from "#domain/delivery/Notification.ts"
import type { StoreError } from "./StoreError.ts"

export type EntryOrder = "published" | "stored"

/** Maximum of bytes of the entries of a page as JSON. A page with a longer entry has this entry alone. */
export const maxPageBytes = 16 * 1024 * 1024

export interface PageQuery {
  readonly resourceIds: ReadonlyArray<number>
  /** 1 to 50. */
  readonly count: number
  /** Default `published`. `stored` is the order of arrival, latest first, so that no entry can come in front of a known one. */
  readonly order?: EntryOrder
  /**
   * Entry ids. The page has entries behind the entry `before`, or in front of the entry `after`, in page order with ties included.
   * With `after` alone the page has the nearest entries, so that the next page after its first entry leaves no gap.
   */
  readonly before?: string
  readonly after?: string
}

export type EntryPage =
  | { readonly _tag: "Page"; readonly entries: ReadonlyArray<StoredEntry> }
  /** `before` or `after` is the id of no stored entry. */
  | { readonly _tag: "UnknownEntry"; readonly parameter: "before" | "after"; readonly id: string }

export interface StoredEntry {
  readonly resourceId: number
  readonly entry: Entry
  /** Epoch ms. */
  readonly firstSeen: number
}

/** Stored entries and documents. */
export class EntryStore extends Context.Service<EntryStore, {
  /**
   * Newest first: by (published, else first seen) descending, ties broken by order of arrival, latest first; or by arrival alone.
   *
   * A page ends before `count` when its entries exceed `maxPageBytes`. The next page begins with `before` or `after` its last entry.
   *
   * A read in the order of storing waits for the writes of these resources. So no entry appears later behind an entry of the page.
   */
  readonly page: (query: PageQuery) => Effect.Effect<EntryPage, StoreError>
  /** The stored entries with these ids, at most 50 ids, in page order, up to `maxPageBytes`. */
  readonly findById: (
    resourceIds: ReadonlyArray<number>,
    ids: ReadonlyArray<string>
  ) => Effect.Effect<ReadonlyArray<StoredEntry>, StoreError>
  /** Current document of a resource other than a feed. */
  readonly document: (resourceId: number) => Effect.Effect<Option.Option<Document>, StoreError>
}>()("windhover/domain/ports/EntryStore") {}
