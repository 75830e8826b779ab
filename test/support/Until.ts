import { Effect } from "effect"

/** Waits until something holds: it is looked at now, and again whenever the looks in `waiting` are called. */
export const untilAmong = (waiting: Set<() => void>) => (condition: () => boolean): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    const look = () => {
      if (condition()) resume(Effect.void)
    }
    waiting.add(look)
    look()
    return Effect.sync(() => void waiting.delete(look))
  })
