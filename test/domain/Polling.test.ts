import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { nextFetch, nextPeriod, type Pace } from "#domain/Polling.ts"

const pace = (fields: Partial<Pace>): Pace => ({
  kind: "feed",
  period: 900,
  outcome: "unchanged",
  velocity: undefined,
  ...fields
})

describe("Polling", () => {
  it("begins with the shortest period of the kind", () => {
    assert.strictEqual(nextPeriod(pace({ period: undefined }), 60), 60)
    assert.strictEqual(nextPeriod(pace({ kind: "unknown", period: undefined }), 60), 60)
    assert.strictEqual(nextPeriod(pace({ kind: "json", period: undefined }), 60), 300)
    assert.strictEqual(nextPeriod(pace({ kind: "other", period: undefined }), 1), 5)
  })

  it("halves with news, adds half in silence, doubles with a failure", () => {
    assert.strictEqual(nextPeriod(pace({ period: 400, outcome: "changed" }), 60), 200)
    assert.strictEqual(nextPeriod(pace({ period: 400 }), 60), 600)
    assert.strictEqual(nextPeriod(pace({ period: 400, outcome: "failed" }), 60), 800)
  })

  it("waits 15 minutes at most while the pace is unknown", () => {
    assert.strictEqual(nextPeriod(pace({ period: 900 }), 60), 900)
    assert.strictEqual(nextPeriod(pace({ kind: "other", period: 4500 }), 60), 4500)
  })

  it("waits a quarter of the usual time between two entries when it is known", () => {
    const settled = (velocity: number) => {
      let period = 60
      for (let poll = 0; poll < 40; poll++) period = nextPeriod(pace({ period, velocity }), 60)
      return period
    }
    assert.deepStrictEqual([0, 1, 24, 1000].map(settled), [21_600, 21_600, 900, 60])
  })

  it("comes back from a long failure at once", () => {
    assert.strictEqual(nextPeriod(pace({ period: 86_400, outcome: "unchanged" }), 60), 900)
    assert.strictEqual(nextPeriod(pace({ period: 86_400, outcome: "failed" }), 60), 86_400)
  })

  it("stays between the shortest period and a day, in whole seconds", () => {
    const paces = fc.record({
      kind: fc.constantFrom("feed" as const, "json" as const, "html-fragment" as const, "other" as const),
      period: fc.option(fc.integer({ min: 1, max: 86_400 }), { nil: undefined }),
      outcome: fc.constantFrom("changed" as const, "unchanged" as const, "failed" as const),
      velocity: fc.option(fc.double({ min: 0, max: 1e6, noNaN: true }), { nil: undefined })
    })
    fc.assert(fc.property(paces, (any) => {
      const period = nextPeriod(any, 60)
      assert.isTrue(Number.isInteger(period) && period >= (any.kind === "feed" ? 60 : 300) && period <= 86_400)
    }))
  })

  it("spreads by a tenth, and obeys the server", () => {
    assert.strictEqual(nextFetch(1000, 60, 0), 61_000)
    assert.strictEqual(nextFetch(1000, 60, 0.5), 64_000)
    assert.strictEqual(nextFetch(1000, 60, 0, 500_000), 500_000)
  })
})
