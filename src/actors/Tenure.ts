import { Clock, Context, Effect, Layer } from "effect"
import * as RunnerStorage from "effect/cluster/RunnerStorage"
import type * as ShardId from "effect/cluster/ShardId"

/** A lock that its owner does not confirm goes to another runner after so many ms. */
export const lockExpiration = 9_000

/** What a runner knows of its claim to a shard. */
export interface Claim {
  readonly isSure: () => boolean
  /** Returns when it is sure; at once, mostly. */
  readonly sure: Effect.Effect<void>
}

/** Of one process alone: there is nobody else. */
export const undisputed: Claim = { isSure: () => true, sure: Effect.void }

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
 */
export const Tenure = Context.Reference<{ readonly of: (shard: ShardId.ShardId) => Claim }>("windhover/actors/Tenure", {
  defaultValue: () => ({ of: () => undisputed })
})

/** Less than the lock: it takes a moment from here to the outside. Milliseconds. */
const sureFor = lockExpiration - 1_000

/** Who waits looks again after so many ms. */
const lookAgain = 100

/** The storage of the cluster, and beside it what its answers say. */
export const layer = Layer.effectContext(Effect.gen(function*() {
  const storage = yield* RunnerStorage.RunnerStorage
  const clock = yield* Clock.Clock
  const until = new Map<string, number>()

  /** Sure from when the question was asked: the answer may have been under way for long. */
  const noted = <E>(question: Effect.Effect<Array<ShardId.ShardId>, E>) =>
    Effect.flatMap(Clock.currentTimeMillis, (asked) =>
      Effect.tap(question, (held) =>
        Effect.sync(() => {
          for (const shard of held) until.set(shard.toString(), asked + sureFor)
        })))

  const of = (shard: ShardId.ShardId): Claim => {
    const name = shard.toString()
    const isSure = () => clock.currentTimeMillisUnsafe() < (until.get(name) ?? 0)
    const sure: Effect.Effect<void> = Effect.suspend(() =>
      isSure() ? Effect.void : Effect.andThen(Effect.sleep(lookAgain), sure)
    )
    return { isSure, sure }
  }

  return Context.make(RunnerStorage.RunnerStorage, {
    ...storage,
    acquire: (address, shards) => noted(storage.acquire(address, shards)),
    refresh: (address, shards) => noted(storage.refresh(address, shards))
  }).pipe(Context.add(Tenure, { of }))
}))
