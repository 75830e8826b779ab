import { assert, describe, it } from "@effect/vitest"
import {
  addBounce,
  type BounceHistory,
  decideBounce,
  hasTrialArrived,
  nextTrialAt,
  type Severity
} from "#domain/delivery/Bounce.ts"

const minute = 60_000

const bounce = { subscriptionId: 1, from: "ann@xmpp.test", message: "" }

/** What is known, and what was decided last, after bounces of these sequences at these minutes. */
const after = (...bounces: ReadonlyArray<readonly [sequence: number, minute: number, severity?: Severity]>) => {
  let known: BounceHistory | undefined
  let decided = ""
  for (const [sequence, at, severity = "lasting"] of bounces) {
    const next = addBounce(known, { ...bounce, sequence, severity }, at * minute)
    if (next === undefined) continue
    known = next
    decided = decideBounce(severity, next)
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

  it("counts the hour from now when a clock that was ahead began it", () => {
    const since = 1e9
    const known = { count: 4, since, sequence: 4, lastAt: since, message: "", trials: 0 }
    const next = addBounce(known, { ...bounce, sequence: 5, severity: "lasting" }, 7) ?? assert.fail()
    assert.deepStrictEqual([next.count, next.since], [5, 7])
  })

  it.each([[0, true], [1, false], [180_000, false], [1e9, true]])(
    "takes a trial for arrived that is known to be over in %s ms: %s",
    (until, arrived) => {
      assert.strictEqual(hasTrialArrived({ sequence: 1, until }, 0), arrived)
    }
  )

  it("begins anew when one between did not come back", () => {
    assert.deepStrictEqual(after([1, 0], [2, 1], [3, 2], [4, 3], [6, 60]), [1, "marked"])
  })

  it("counts none twice, and none that comes behind a later one", () => {
    assert.deepStrictEqual(after([3, 0], [3, 1], [1, 1], [2, 2], [4, 3], [5, 60]), [3, "marked"])
  })

  it("is tried after an hour, then twice as long each time up to a day", () => {
    const known = { count: 5, since: 0, sequence: 5, lastAt: 60 * minute, message: "" }
    assert.deepStrictEqual(
      [0, 1, 2, 3, 4, 5, 1_000].map((trials) => (nextTrialAt({ ...known, trials }) - known.lastAt) / (60 * minute)),
      [1, 2, 4, 8, 16, 24, 24]
    )
  })

  it("pauses again when a trial comes back, however, and whatever its number is", () => {
    const known = { count: 5, since: 0, sequence: 5, lastAt: 60 * minute, message: "", trials: 2 }
    for (const severity of ["lasting", "passing"] as const) {
      const next = addBounce(known, { ...bounce, sequence: 9, severity }, 180 * minute)
      assert.deepStrictEqual(next?.trials, 2)
      assert.strictEqual(next && decideBounce(severity, next), "paused")
    }
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
