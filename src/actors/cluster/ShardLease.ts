import { Clock, Context, Effect, Exit, Layer } from "effect"
import * as RunnerStorage from "effect/cluster/RunnerStorage"
import type * as ShardId from "effect/cluster/ShardId"

/** A lock that its owner does not confirm goes to another runner after so many ms. */
export const lockExpiration = 9_000

/** A runner's claim to a shard, from one acquisition of its lock until the lock is lost. */
export interface ShardLease {
  readonly isHeld: () => boolean
  /** Returns when it is sure; at once, mostly. */
  readonly awaitHeld: Effect.Effect<void>
}

/** Who waits looks again after so many ms. */
export const lookAgain = 100

/** Of one process alone: there is nobody else. */
export const undisputed: ShardLease = { isHeld: () => true, awaitHeld: Effect.void }

/**
 * How long a runner may be sure of what it holds.
 *
 *   asks the database ──► it holds the lock                                 another runner may have it
 *   ├──────────────────── sure ────────────────────────┤ waits ... ┤────────────────────────────────►
 *   0 s                                                8 s         9 s
 *
 * A runner that stood still (a stopped process, a machine that slept) knows less than nothing when it goes on: its locks went to others, who have
 * done what it is about to do. Who is about to do something that nobody takes back asks here first, and waits until the database has said
 * again that the lock is there. When it is not, the cluster ends the partition, and whoever waits with it.
 *
 * PostgreSQL's advisory locks end with their session, which the storage replaces when a question fails or takes too long: after that nothing is
 * sure before it is confirmed. A lock that was lost and acquired again is another lock: what was begun under the first one is never sure again,
 * also while it still comes to its end beside the partition that was begun under the second.
 */
export const ShardLeases = Context.Reference<{ readonly of: (shard: ShardId.ShardId) => ShardLease }>(
  "windhover/actors/cluster/ShardLease",
  {
    defaultValue: () => ({ of: () => undisputed })
  }
)

/** One acquisition of a shard's lock. */
interface Lock {
  /** Sure before it, epoch ms. */
  until: number
}

/** Less than the lock: it takes a moment from here to the outside. Milliseconds. */
const sureFor = lockExpiration - 1_000

/** The storage of the cluster, and beside it what its answers say. */
export const layer = Layer.effectContext(Effect.gen(function*() {
  const storage = yield* RunnerStorage.RunnerStorage
  const clock = yield* Clock.Clock
  /** The locks that are held, as far as is known. */
  const locks = new Map<string, Lock>()
  /** Questions that failed. */
  let failures = 0

  const doubtAll = () => {
    failures++
    for (const lock of locks.values()) lock.until = 0
  }

  /** Sure from when the question was asked: the answer may have been under way for long, and another question may have failed meanwhile. */
  const noted = <E>(
    question: Effect.Effect<Array<ShardId.ShardId>, E>,
    note: (held: ReadonlySet<string>, until: number) => void
  ) =>
    Effect.flatMap(Clock.currentTimeMillis, (asked) => {
      const before = failures
      return Effect.onExit(question, (exit) =>
        Effect.sync(() => {
          if (Exit.isFailure(exit)) doubtAll()
          else note(new Set(exit.value.map(String)), failures === before ? asked + sureFor : 0)
        }))
    })

  const acquired = (held: ReadonlySet<string>, until: number) => {
    for (const name of held) locks.set(name, { until })
  }

  const refreshed = (asked: ReadonlyArray<string>, held: ReadonlySet<string>, until: number) => {
    for (const name of asked) {
      const lock = locks.get(name)
      if (lock === undefined) continue
      if (held.has(name)) {
        lock.until = Math.max(lock.until, until)
      } else {
        lock.until = 0
        locks.delete(name)
      }
    }
  }

  const of = (shard: ShardId.ShardId): ShardLease => {
    const name = shard.toString()
    let lock = locks.get(name)
    const isSure = () => {
      lock ??= locks.get(name)
      return lock !== undefined && clock.currentTimeMillisUnsafe() < lock.until
    }
    const sure: Effect.Effect<void> = Effect.suspend(() =>
      isSure() ? Effect.void : Effect.andThen(Effect.sleep(lookAgain), sure)
    )
    return { isHeld: isSure, awaitHeld: sure }
  }

  return Context.make(RunnerStorage.RunnerStorage, {
    ...storage,
    acquire: (address, shards) => noted(storage.acquire(address, shards), acquired),
    refresh: (address, shards) => {
      const asked = [...shards]
      return noted(storage.refresh(address, asked), (held, until) => refreshed(asked.map(String), held, until))
    }
  }).pipe(Context.add(ShardLeases, { of }))
}))
