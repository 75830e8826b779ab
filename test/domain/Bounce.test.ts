import { assert, describe, it } from "@effect/vitest"
import { afterBounce, type Bounces, type Severity, verdict } from "#domain/Bounce.ts"

const minute = 60_000

/** What is known, and what was decided last, after bounces of these sequences at these minutes. */
const after = (...bounces: ReadonlyArray<readonly [sequence: number, minute: number, severity?: Severity]>) => {
  let known: Bounces | undefined
  let decided = ""
  for (const [sequence, at, severity = "lasting"] of bounces) {
    known = afterBounce(known, { subscriptionId: 1, sequence, severity, message: "" }, at * minute)
    decided = verdict(severity, known)
  }
  return [known?.count, decided]
}

describe("Bounce", () => {
  it("ends a subscription whose receiver is gone, at once", () => {
    assert.deepStrictEqual(after([7, 0, "gone"]), [1, "ended"])
  })

  it("pauses after five in a row that took an hour, not before", () => {
    assert.deepStrictEqual(after([1, 0], [2, 1], [3, 2], [4, 59]), [4, "marked"])
    assert.deepStrictEqual(after([1, 0], [2, 1], [3, 2], [4, 3], [5, 59]), [5, "marked"])
    assert.deepStrictEqual(after([1, 0], [2, 1], [3, 2], [4, 3], [5, 60]), [5, "paused"])
  })

  it("begins anew when one between did not come back", () => {
    assert.deepStrictEqual(after([1, 0], [2, 1], [3, 2], [4, 3], [6, 60]), [1, "marked"])
  })

  it("takes those that come late for the same row", () => {
    assert.deepStrictEqual(after([3, 0], [1, 1], [2, 2], [4, 3], [5, 60]), [5, "paused"])
  })

  it("never pauses for what passes, and goes on counting behind it", () => {
    assert.deepStrictEqual(after(...Array.from({ length: 9 }, (_, i) => [i, i * 60, "passing"] as const)), [
      0,
      "marked"
    ])
    assert.deepStrictEqual(after([1, 0], [2, 1], [3, 2, "passing"], [4, 3], [5, 4], [6, 60]), [5, "paused"])
  })

  it("counts from the first lasting one", () => {
    assert.deepStrictEqual(after([1, 0, "passing"], [2, 59], [3, 59], [4, 59], [5, 59], [6, 61]), [5, "marked"])
  })
})
