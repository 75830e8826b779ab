import { Context, type Effect, type Option } from "effect"
import type { Entry } from "#domain/Entry.ts"
import type { Delivery, Document } from "#domain/Notification.ts"
import type { Polled, ResourceState } from "#domain/Resource.ts"
import type { StoreError } from "./StoreError.ts"

/** Everything that one changed poll writes, in one transaction. */
export interface Change {
  /** The next state. */
  readonly state: ResourceState
  /** All entries that are new to the store, oldest first. */
  readonly entries: ReadonlyArray<Entry>
  /** Known entries whose content replaces the stored one. */
  readonly updated: ReadonlyArray<Entry>
  readonly announce: Announcement | undefined
}

/** What subscribers are told; `undefined` in a `Change` tells nobody (a first fetch, a new header). */
export type Announcement =
  /**
   * `ids` of entries of this change, newest first. Of the new ones only those are announced that the store did not have:
   * a change that was recorded twice announces once. Updated ones are announced as they are.
   */
  | { readonly _tag: "Entries"; readonly ids: ReadonlyArray<string> }
  | { readonly _tag: "Document"; readonly document: Document }
  | { readonly _tag: "Failure" }

export class ResourceStore extends Context.Service<ResourceStore, {
  /** By canonical topic. */
  readonly find: (url: string) => Effect.Effect<Option.Option<ResourceState>, StoreError>
  /** By id; loads of all actors that are awake within some milliseconds are one query. */
  readonly load: (id: number) => Effect.Effect<Option.Option<ResourceState>, StoreError>
  /** The alarms of a partition: every resource with a subscription, and when it is due (epoch ms); index by index. */
  readonly alarms: (
    partition: number
  ) => Effect.Effect<{ readonly ids: Float64Array; readonly dueAt: Float64Array }, StoreError>
  /** An unchanged poll: kept in memory and written in bulk within 2 s. Lost by a crash, it is polled again: harmless. */
  readonly touch: (polled: Polled) => Effect.Effect<void>
  /**
   * A changed poll: state, entries, the notification, one delivery a subscription and the credits, in one transaction; batched over actors.
   * Returns the deliveries, ready to send.
   */
  readonly record: (change: Change) => Effect.Effect<ReadonlyArray<Delivery>, StoreError>
  /** Writes what `touch` has kept. */
  readonly flush: Effect.Effect<void, StoreError>
}>()("windhover/domain/ports/ResourceStore") {}
