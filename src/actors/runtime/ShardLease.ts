import { Context, Effect } from "effect"
import type * as ShardId from "effect/cluster/ShardId"

/** Time between two checks of a waiting caller, in ms. */
export const checkSpacingMs = 100

/** The lease of a runner on a shard, from one acquisition of its lock until the lock is lost. */
export interface ShardLease {
  readonly isHeld: () => boolean
  /** Returns once the lease is held; at once, mostly. */
  readonly awaitHeld: Effect.Effect<void>
}

/** The lease of a process without a cluster: no other runner exists. */
export const permanentLease: ShardLease = { isHeld: () => true, awaitHeld: Effect.void }

/**
 * The leases of this runner on its shards.
 *
 *   asks the database ──► the lock is confirmed                             another runner may take the lock
 *   ├──────────────────── held ────────────────────────┤ waits ... ┤────────────────────────────────►
 *   0 s                                                8 s         9 s
 *
 * A runner that stood still (a stopped process, a sleeping machine) works with wrong knowledge when it resumes: other runners have its
 * locks and have done its next work already. Before an effect that cannot be undone, the caller awaits the lease, until the database has
 * confirmed the lock again. If the lock is lost, the cluster ends the partition and so interrupts the caller.
 *
 * Advisory locks of PostgreSQL end with their session, and the storage replaces a session after a failed or slow statement. No lease is
 * held from such a failure until the next confirmation. A lock that was lost and acquired again is another lock: work under the first one
 * stays without a lease, even while it ends beside the partition of the second lock.
 */
export const ShardLeases = Context.Reference<{ readonly of: (shard: ShardId.ShardId) => ShardLease }>(
  "windhover/actors/runtime/ShardLease",
  { defaultValue: () => ({ of: () => permanentLease }) }
)
