import { Clock, Context, Effect, Exit, Layer, Schedule } from "effect"
import * as RunnerStorage from "effect/cluster/RunnerStorage"
import type * as ShardId from "effect/cluster/ShardId"
import { FifoSemaphore } from "#actors/limits/FifoSemaphore.ts"
import { makeRareWarning } from "#actors/runtime/RareWarning.ts"
import { checkSpacingMs, type ShardLease, ShardLeases } from "#actors/runtime/ShardLease.ts"

/** Time after which the unconfirmed lock of a shard goes to another runner, in ms. */
export const lockExpirationMs = 9_000

/** Duration of a lease after its confirmation, in ms. Shorter than the lock, because effects take a moment to reach the outside. */
const leaseMs = lockExpirationMs - 1_000

/** Waits between two tries to release a lock, without an end: the cluster repeats a failed release without a wait. */
const releaseRetries = Schedule.spaced("1 second")

const warnUnreleased = makeRareWarning("The lock of a shard could not be released; retrying every second.")

/** One acquisition of the lock of a shard. */
interface Lock {
  /** End of the lease, epoch ms. */
  heldUntil: number
}

/** The storage of the cluster with the leases that follow from its results. */
export const layer = Layer.effectContext(Effect.gen(function*() {
  const storage = yield* RunnerStorage.RunnerStorage
  const locks = new Locks(yield* Clock.Clock)
  // One at a time: a starting runner takes hundreds of shards, and the storage ends its session when a queued release waits for 2 s.
  const releases = new FifoSemaphore(1)
  return Context.make(RunnerStorage.RunnerStorage, {
    ...storage,
    acquire: (address, shards) =>
      locks.observe(storage.acquire(address, shards), (held, until) => locks.recordAcquired(held, until)),
    refresh: (address, shards) => {
      const requested = [...shards]
      return locks.observe(
        storage.refresh(address, requested),
        (held, until) => locks.recordRefreshed(requested.map(String), held, until)
      )
    },
    release: (address, shard) =>
      releases.withPermit(
        storage.release(address, shard).pipe(
          Effect.tapCause(() => Effect.sync(() => locks.endAll())),
          Effect.tapError(warnUnreleased),
          Effect.retry(releaseRetries)
        )
      )
  }).pipe(Context.add(ShardLeases, { of: (shard) => locks.leaseOf(shard.toString()) }))
}))

/** The locks of this runner, as the last results of the storage tell. */
class Locks {
  readonly #clock: Clock.Clock
  readonly #locks = new Map<string, Lock>()
  #failures = 0

  constructor(clock: Clock.Clock) {
    this.#clock = clock
  }

  /**
   * Passes the held shards and the end of their leases to `record`; a failed statement ends all leases.
   *
   * A lease counts from the start of the statement, because its result may have been long under way. When another statement has failed
   * meanwhile, the result confirms no lease.
   */
  observe<E>(
    statement: Effect.Effect<Array<ShardId.ShardId>, E>,
    record: (held: ReadonlySet<string>, until: number) => void
  ): Effect.Effect<Array<ShardId.ShardId>, E> {
    return Effect.flatMap(Clock.currentTimeMillis, (startedAt) => {
      const failuresBefore = this.#failures
      return Effect.onExit(statement, (exit) =>
        Effect.sync(() => {
          if (Exit.isFailure(exit)) this.endAll()
          else record(new Set(exit.value.map(String)), failuresBefore === this.#failures ? startedAt + leaseMs : 0)
        }))
    })
  }

  recordAcquired(held: ReadonlySet<string>, until: number): void {
    for (const shard of held) this.#locks.set(shard, { heldUntil: until })
  }

  recordRefreshed(requested: ReadonlyArray<string>, held: ReadonlySet<string>, until: number): void {
    for (const shard of requested) {
      const lock = this.#locks.get(shard)
      if (lock === undefined) continue
      if (held.has(shard)) {
        lock.heldUntil = Math.max(lock.heldUntil, until)
      } else {
        lock.heldUntil = 0
        this.#locks.delete(shard)
      }
    }
  }

  /** The lease of the current acquisition, or of the next one when the lock is not acquired yet. */
  leaseOf(shard: string): ShardLease {
    let lock = this.#locks.get(shard)
    const isHeld = () => {
      lock ??= this.#locks.get(shard)
      return lock !== undefined && this.#clock.currentTimeMillisUnsafe() < lock.heldUntil
    }
    const awaitHeld: Effect.Effect<void> = Effect.suspend(() =>
      isHeld() ? Effect.void : Effect.andThen(Effect.sleep(checkSpacingMs), awaitHeld)
    )
    return { isHeld, awaitHeld }
  }

  /** Ends all leases, because the storage has replaced its session. */
  endAll(): void {
    this.#failures++
    for (const lock of this.#locks.values()) lock.heldUntil = 0
  }
}
