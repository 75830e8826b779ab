import { Context, type Effect } from "effect"
import type { StoreError } from "./StoreError.ts"

/** Progress of the deletion of old entries in a partition. */
export interface EntryPruneStep {
  readonly deleted: number
  /** The resource behind which the next step begins; undefined at the end of the partition. */
  readonly next: number | undefined
}

/** Deletes old rows in short steps, so that other statements do not wait for long. */
export class Retention extends Context.Service<Retention, {
  /** Deletes dropped deliveries of a partition whose last attempt was due before `before` (epoch ms), at most `limit`. Returns their number. */
  readonly pruneDeliveries: (partition: number, before: number, limit: number) => Effect.Effect<number, StoreError>
  /** Deletes attempts and ends of the delivery log before `before` (epoch ms), at most `limit` of each. Returns the larger number. */
  readonly pruneDeliveryLog: (before: number, limit: number) => Effect.Effect<number, StoreError>
  /**
   * Deletes entries beyond the newest `keep` of a resource by arrival, for some resources with an id above `after`.
   *
   * Entries of a stored notification stay, because it may be delivered, replayed or read again. A resource that remembers more ids than `keep`
   * keeps as many entries. A deleted entry is not announced again, because its id stays in the seen ids.
   */
  readonly pruneEntries: (partition: number, keep: number, after: number) => Effect.Effect<EntryPruneStep, StoreError>
  /**
   * Deletes resources of a partition whose last subscription ended before `before` (epoch ms), with their entries and notifications. At most
   * `limit` resources per call. Returns the deleted ids, and whether more rows wait for deletion.
   */
  readonly pruneResources: (
    partition: number,
    before: number,
    limit: number
  ) => Effect.Effect<{ readonly deleted: ReadonlyArray<number>; readonly isFinished: boolean }, StoreError>
  /**
   * Deletes the reliability of publishers' hubs without a resource that were last counted before `before` (epoch ms), at most `limit`. Returns
   * their number. Their misses are deleted as well, because a new resource relies on a hub only after a push.
   */
  readonly pruneHubs: (before: number, limit: number) => Effect.Effect<number, StoreError>
}>()("windhover/domain/ports/Retention") {}
