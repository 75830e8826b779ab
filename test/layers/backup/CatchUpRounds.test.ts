import { assert, describe, it } from "@effect/vitest"
import * as CatchUpRounds from "#layers/backup/CatchUpRounds.ts"

/** Rounds until the stop, when round `n` (from 1) has this number of changes. */
const countRounds = (changes: (n: number) => number) => {
  const isOver = CatchUpRounds.make()
  let n = 1
  while (!isOver(changes(n))) n++
  return n
}

describe("CatchUpRounds", () => {
  it("ends with the first round of few changes", () => {
    assert.strictEqual(countRounds(() => 500), 1)
    assert.strictEqual(countRounds((n) => n < 4 ? 501 * (4 - n) : 500), 4)
  })

  it("goes on for hundreds of rounds while changes get fewer", () => {
    assert.strictEqual(countRounds((n) => 100_000 - 200 * n), 498)
  })

  it("ends after five rounds without a new minimum", () => {
    assert.strictEqual(countRounds(() => 9_000), 6)
    assert.strictEqual(countRounds((n) => n <= 10 ? 9_000 - n : 9_000), 15)
    assert.strictEqual(countRounds((n) => n % 5 === 0 ? 9_000 - n : 10_000), 1_000, "a new minimum in time")
  })

  it("has at most 1,000 rounds", () => {
    assert.strictEqual(countRounds((n) => 1_000_000 - n), 1_000)
  })
})
