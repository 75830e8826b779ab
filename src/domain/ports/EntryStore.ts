import { Context, type Effect, type Option } from "effect"
import type { Entry } from "#domain/feed/Entry.ts"
import type { Document } from "#domain/delivery/Notification.ts"
import type { StoreError } from "./StoreError.ts"

export interface PageQuery {
  readonly resourceIds: ReadonlyArray<number>
  /** 1 to 50. */
  readonly count: number
  /**
   * Entry ids; only entries that come after (`before`) or ahead of them (`after`) in the order of the page, ties included.
   * With `after` alone the page holds the nearest ones, so that going on from its first entry leaves no gap.
   */
  readonly before?: string
  readonly after?: string
}

export type EntryPage =
  | { readonly _tag: "Page"; readonly entries: ReadonlyArray<StoredEntry> }
  /** `before` or `after` names no stored entry of these resources. */
  | { readonly _tag: "UnknownEntry"; readonly parameter: "before" | "after"; readonly id: string }

export interface StoredEntry {
  readonly resourceId: number
  readonly entry: Entry
  /** Epoch ms. */
  readonly firstSeen: number
}

/** Past entries. */
export class EntryStore extends Context.Service<EntryStore, {
  /** Newest first: by (published, else first seen) descending, ties broken by order of arrival, latest first. */
  readonly page: (query: PageQuery) => Effect.Effect<EntryPage, StoreError>
  /** Current representation of a resource that is no feed. */
  readonly document: (resourceId: number) => Effect.Effect<Option.Option<Document>, StoreError>
}>()("windhover/domain/ports/EntryStore") {}
