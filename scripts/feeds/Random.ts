/** Repeatable random numbers from 0 to below 1 (mulberry32), so that a seed reproduces a fuzz run. */
export type Random = () => number

export const makeRandom = (seed: number): Random => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** A random integer from 0 to below `limit`. */
export const nextInteger = (next: Random, limit: number): number => Math.floor(next() * limit)

export const pick = <T>(next: Random, from: ReadonlyArray<T>): T => from[nextInteger(next, from.length)]!
