import { Effect } from "effect"

/**
 * Counts the characters that `work` reads. The number is the same on every machine, independent of its load.
 *
 * Tests that work is linear in its input use this count. Only methods of strings and regular expressions are counted.
 */
export const countWork = (work: () => unknown): number => {
  const counting = startCounting()
  try {
    work()
  } finally {
    counting.stop()
  }
  return counting.count()
}

/** Counts the characters that the whole process reads until an effect ends. */
export const countWorkDuring = <A, E, R>(
  effect: Effect.Effect<A, E, R>
): Effect.Effect<readonly [work: number, A], E, R> =>
  Effect.acquireUseRelease(
    Effect.sync(startCounting),
    (counting) => Effect.map(effect, (value) => [counting.count(), value] as const),
    (counting) => Effect.sync(counting.stop)
  )

const startCounting = () => {
  let count = 0
  const strings = String.prototype
  const { charCodeAt, indexOf, includes, startsWith } = strings
  const { exec } = RegExp.prototype
  strings.charCodeAt = function(at) {
    count++
    return charCodeAt.call(this, at)
  }
  strings.indexOf = function(needle, from = 0) {
    const found = indexOf.call(this, needle, from)
    count += Math.max((found < 0 ? this.length : found) - from, 0) + 1
    return found
  }
  strings.includes = function(needle, from = 0) {
    const found = indexOf.call(this, needle, from)
    count += (found < 0 ? this.length : found) - from + 1
    return found >= 0
  }
  strings.startsWith = function(needle, at) {
    count += needle.length
    return startsWith.call(this, needle, at)
  }
  RegExp.prototype.exec = function(text) {
    const from = this.global || this.sticky ? this.lastIndex : 0
    const match = exec.call(this, text)
    count += (match === null ? text.length : match.index + match[0].length) - from + 1
    return match
  }
  return {
    count: () => count,
    stop: () => {
      Object.assign(strings, { charCodeAt, indexOf, includes, startsWith })
      RegExp.prototype.exec = exec
    }
  }
}
