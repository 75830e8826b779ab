import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { hintOf, type IntervalInput, nextFetch, nextPeriod } from "#domain/poll/PollingInterval.ts"

const bounds = { minPeriod: 60, maxPeriod: 900 }

const pace = (fields: Partial<IntervalInput>): IntervalInput => ({
  kind: "feed",
  period: 900,
  outcome: "unchanged",
  velocity: undefined,
  subscribers: 1,
  hint: 0,
  ...fields
})

const next = (fields: Partial<IntervalInput>): number => nextPeriod(pace(fields), bounds)

/** Where silence takes it. */
const settled = (fields: Partial<IntervalInput>): number => {
  let period = 60
  for (let poll = 0; poll < 40; poll++) period = next({ period, ...fields })
  return period
}

describe("Polling", () => {
  it("begins with the shortest period of the kind", () => {
    assert.strictEqual(next({ period: undefined }), 60)
    assert.strictEqual(next({ kind: "unknown", period: undefined }), 60)
    assert.strictEqual(next({ kind: "json", period: undefined }), 300)
    assert.strictEqual(next({ kind: "html-fragment", period: undefined, outcome: "failed" }), 300)
    assert.strictEqual(nextPeriod(pace({ kind: "other", period: undefined }), { minPeriod: 1, maxPeriod: 900 }), 5)
  })

  it("halves with news, adds half in silence, doubles with a failure", () => {
    assert.strictEqual(next({ period: 400, outcome: "changed" }), 200)
    assert.strictEqual(next({ period: 400 }), 600)
    assert.strictEqual(next({ period: 400, outcome: "failed" }), 800)
    assert.strictEqual(next({ period: 800, outcome: "failed" }), 1600)
    assert.strictEqual(next({ period: 400, outcome: "unreadable" }), 800)
    assert.strictEqual(next({ period: 800, outcome: "unreadable" }), 900)
  })

  it("waits a quarter of the usual time between two entries, at most the longest period of the settings", () => {
    assert.deepStrictEqual([0, 1, 24, 48, 96, 1000].map((velocity) => settled({ velocity })), [
      900,
      900,
      900,
      450,
      225,
      60
    ])
    assert.strictEqual(settled({ velocity: undefined }), 900)
    assert.strictEqual(settled({ velocity: undefined, kind: "other" }), 900)
  })

  it("waits less for a resource with many subscribers", () => {
    assert.deepStrictEqual([1, 10, 100, 1000].map((subscribers) => settled({ velocity: 48, subscribers })), [
      450,
      225,
      150,
      113
    ])
  })

  it("waits as long as the publisher asks, up to the longest period", () => {
    assert.strictEqual(next({ period: undefined, hint: 600 }), 600)
    assert.strictEqual(next({ period: 600, hint: 600, outcome: "changed" }), 600)
    assert.strictEqual(next({ period: 60, hint: Infinity, outcome: "changed" }), 900)
    assert.strictEqual(settled({ velocity: 1000, hint: 300 }), 300)
  })

  it("comes back from a long failure at once", () => {
    assert.strictEqual(next({ period: 86_400 }), 900)
    assert.strictEqual(next({ period: 86_400, outcome: "failed" }), 86_400)
  })

  it("stays between the shortest period and a day, in whole seconds", () => {
    const paces = fc.record({
      kind: fc.constantFrom("feed" as const, "json" as const, "html-fragment" as const, "other" as const),
      period: fc.option(fc.integer({ min: 1, max: 86_400 }), { nil: undefined }),
      outcome: fc.constantFrom("changed" as const, "unchanged" as const, "failed" as const, "unreadable" as const),
      velocity: fc.option(fc.double({ min: 0, max: 1e6, noNaN: true }), { nil: undefined }),
      subscribers: fc.nat(),
      hint: fc.double({ min: 0, noNaN: true })
    })
    fc.assert(fc.property(paces, (any) => {
      const period = nextPeriod(any, bounds)
      assert.isTrue(Number.isInteger(period) && period >= (any.kind === "feed" ? 60 : 300) && period <= 86_400)
    }))
  })

  it("spreads by a tenth, and obeys the server", () => {
    assert.strictEqual(nextFetch(1000, 60, 0), 61_000)
    assert.strictEqual(nextFetch(1000, 60, 0.5), 64_000)
    assert.strictEqual(nextFetch(1000, 60, 0, 500_000), 500_000)
  })
})

describe("hints of publishers", () => {
  /** A Saturday, 10:30. */
  const now = Date.UTC(2026, 10, 28, 10, 30)

  it("are none where nothing is said, or what cannot be read", () => {
    assert.strictEqual(hintOf({}, undefined, now), 0)
    assert.strictEqual(hintOf({ "cache-control": "public", expires: "0" }, {}, now), 0)
    assert.strictEqual(hintOf({ expires: "9999" }, {}, now), 0)
    assert.strictEqual(hintOf({}, { updatePeriod: "sometimes" }, now), 0)
  })

  it("are the freshness of the answer", () => {
    assert.strictEqual(hintOf({ "cache-control": "public, max-age=600" }, undefined, now), 600)
    assert.strictEqual(hintOf({ "cache-control": "max-age=600", age: "200" }, undefined, now), 400)
    assert.strictEqual(hintOf({ "cache-control": "max-age=600", age: "700" }, undefined, now), 0)
    assert.strictEqual(hintOf({ "cache-control": "no-cache, max-age=600" }, undefined, now), 0)
    assert.strictEqual(hintOf({ expires: "Sat, 28 Nov 2026 11:00:00 GMT" }, undefined, now), 1800)
    assert.strictEqual(hintOf({ expires: "Sat, 28 Nov 2026 09:00:00 GMT" }, undefined, now), 0)
    assert.strictEqual(
      hintOf({ "cache-control": "max-age=60", expires: "Sat, 28 Nov 2026 11:00:00 GMT" }, undefined, now),
      60
    )
  })

  it("are those of the feed", () => {
    assert.strictEqual(hintOf({}, { ttl: 30 }, now), 1800)
    assert.strictEqual(hintOf({}, { updatePeriod: "hourly", updateFrequency: 4 }, now), 900)
    assert.strictEqual(hintOf({}, { updatePeriod: " Daily " }, now), 86_400)
    assert.strictEqual(hintOf({}, { updateFrequency: 24 }, now), 3600)
    assert.strictEqual(hintOf({ "cache-control": "max-age=60" }, { ttl: 5 }, now), 300)
  })

  it("are the hours and days to skip, unless they are all", () => {
    assert.strictEqual(hintOf({}, { skipHours: [9, 10] }, now), Infinity)
    assert.strictEqual(hintOf({}, { skipHours: [9, 11] }, now), 0)
    assert.strictEqual(hintOf({}, { skipHours: [24, 0] }, Date.UTC(2026, 10, 28, 0, 30)), Infinity)
    assert.strictEqual(hintOf({}, { skipDays: ["Saturday"] }, now), Infinity)
    assert.strictEqual(hintOf({}, { skipDays: ["Sunday"] }, now), 0)
    assert.strictEqual(hintOf({}, { skipHours: Array.from({ length: 24 }, (_, hour) => hour) }, now), 0)
  })
})
