import { Effect } from "effect"

/** Minimum time between two lines, in ms. A stranger can subscribe to any number of names. */
const logSpacingMs = 10_000

/**
 * Returns a function that logs the refused address of a name.
 *
 * Only the operator reads the address. A subscriber could otherwise look up the names of an internal network. Refusals within 10 s of a
 * line are counted, and the next line has their number.
 */
export const makeRefusalLog = (
  run: (effect: Effect.Effect<void>) => unknown,
  now: () => number = Date.now
) => {
  let loggedAt = -Infinity
  let unlogged = 0
  return (name: string, address: string, text: string): void => {
    if (Math.abs(now() - loggedAt) < logSpacingMs) return void unlogged++
    loggedAt = now()
    const annotations = { name, address, reason: text, ...(unlogged === 0 ? {} : { unloggedBefore: unlogged }) }
    unlogged = 0
    run(Effect.annotateLogs(Effect.logInfo("A name without an allowed address is not connected to"), annotations))
  }
}
