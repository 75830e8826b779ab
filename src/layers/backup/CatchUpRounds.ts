/** Changes of a round that are few enough for the stop. */
const fewChanges = 500

/** Rounds in a row without a new minimum of changes. The service then writes as fast as the move copies. */
const maxStalledRounds = 5

const maxRounds = 1_000

/**
 * Makes a predicate that gets the number of changes of each round, and is true after the last round before the stop.
 *
 * Each round copies the changes of the round before, so that the number shrinks while the move copies faster than the service writes.
 */
export const make = (): (changes: number) => boolean => {
  let rounds = 0
  let stalled = 0
  let fewest = Number.POSITIVE_INFINITY
  return (changes) => {
    stalled = changes < fewest ? 0 : stalled + 1
    fewest = Math.min(fewest, changes)
    return changes <= fewChanges || ++rounds >= maxRounds || stalled >= maxStalledRounds
  }
}
