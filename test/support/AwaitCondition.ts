import { Effect } from "effect"

/** Waits until `condition` holds. The condition is checked now, and at each call of the functions in `waiting`. */
export const awaitCondition = (waiting: Set<() => void>) => (condition: () => boolean): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    const check = () => {
      if (condition()) resume(Effect.void)
    }
    waiting.add(check)
    check()
    return Effect.sync(() => void waiting.delete(check))
  })
