import { Effect } from "effect"
import type { MemoryBudget } from "#domain/collections/MemoryBudget.ts"

/** A need for memory. */
export interface MemoryNeed {
  /** Needs with equal keys share a maximum, and wait in order. */
  readonly key: string
  readonly bytes: number
  readonly isForStrangers: boolean
}

/** Runs `effect` as soon as the budget has room for its bytes, and returns the bytes afterwards. */
export const withRoom = <A, E, R>(
  budget: MemoryBudget,
  { bytes, isForStrangers, key }: MemoryNeed,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    const reservation = budget.reserve(key, isForStrangers)
    const run = reservation.tryGrow(bytes)
      ? effect
      : Effect.andThen(Effect.callback<void>((resume) => reservation.grow(bytes, () => resume(Effect.void))), effect)
    return Effect.ensuring(run, Effect.sync(() => reservation.release()))
  })
