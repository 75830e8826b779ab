import { Context, type Effect } from "effect"
import type { StoreError } from "./StoreError.ts"

/** Where in a partition the deletion of old entries has got to. */
export interface EntryPruneStep {
  readonly deleted: number
  /** The resource to go on behind; undefined at the end of the partition. */
  readonly next: number | undefined
}

/** Deletes what is not kept for ever, in steps that are short enough to hold up nobody. */
export class Retention extends Context.Service<Retention, {
  /** Deliveries of a partition that were given up and whose last try was due before `before` (epoch ms), at most `limit`; gives how many went. */
  readonly pruneDeliveries: (partition: number, before: number, limit: number) => Effect.Effect<number, StoreError>
  /**
   * Entries of some resources of a partition, those with an id above `after`, beyond the newest `keep` of each by arrival.
   *
   * Kept all the same are those of a notification that is stored, for it may be delivered, replayed or read again; and of a resource that
   * remembers more ids than `keep`, so many. What goes is not news when it is found again: seen ids are no entries.
   */
  readonly pruneEntries: (partition: number, keep: number, after: number) => Effect.Effect<EntryPruneStep, StoreError>
  /**
   * What is known of publishers' hubs that no resource has any more and that were last counted before `before` (epoch ms), of `limit` at most;
   * gives how many went. Strikes go with it: they count against resources that rely on the hub, and whoever comes to it anew has to see it push first.
   */
  readonly pruneHubs: (before: number, limit: number) => Effect.Effect<number, StoreError>
}>()("windhover/domain/ports/Retention") {}
