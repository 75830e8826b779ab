import { Clock, Effect } from "effect"
import { findMessage } from "#domain/ErrorMessage.ts"

/** Minimum time between two lines of one warning, in ms. */
const logSpacingMs = 30_000

/**
 * Makes a warning for failures that come by the hundred, such as those of a slow runner.
 *
 * The first failure is logged, with its reason in words and without a stack. Later failures within 30 s are counted, and the next line has
 * their number.
 */
export const makeRareWarning = (message: string): (error: unknown) => Effect.Effect<void> => {
  let loggedAt: number | undefined
  let unlogged = 0
  return (error) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      if (loggedAt !== undefined && Math.abs(now - loggedAt) < logSpacingMs) {
        unlogged++
        return Effect.void
      }
      loggedAt = now
      const before = unlogged
      unlogged = 0
      return Effect.logWarning(message).pipe(
        Effect.annotateLogs({
          reason: findMessage(error) ?? "unknown",
          ...(before === 0 ? {} : { unloggedBefore: before })
        })
      )
    })
}
