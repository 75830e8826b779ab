import { Effect } from "effect"

/** Waits until `condition` holds. The condition is checked now, and at each call of the functions in `waiting`. */
export const awaitCondition = (waiting: Set<() => void>) => (condition: () => boolean): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    const look = () => {
      if (condition()) resume(Effect.void)
    }
    waiting.add(look)
    look()
    return Effect.sync(() => void waiting.delete(look))
  })
