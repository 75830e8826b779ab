import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { parseRfc3339 } from "#domain/Rfc3339.ts"

describe("parseRfc3339", () => {
  it("reads UTC, zones and fractions", () => {
    const noon = Date.UTC(2024, 1, 29, 12)
    const texts = ["2024-02-29T12:00:00Z", "2024-02-29T14:30:00+02:30", "2024-02-28T23:00:00-13:00"]
    assert.deepStrictEqual(texts.map(parseRfc3339), [noon, noon, noon])
    assert.strictEqual(parseRfc3339("2024-02-29T12:00:00.123456789Z"), noon + 123)
  })

  it.each([
    "2026-02-30T00:00:00Z",
    "2026-02-29T00:00:00Z",
    "1900-02-29T00:00:00Z",
    "2026-04-31T00:00:00Z",
    "2026-00-10T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-01-00T00:00:00Z",
    "2026-01-01T24:00:00Z",
    "2026-01-01T00:60:00Z",
    "2026-01-01T00:00:60Z",
    "2026-01-01T00:00:00+24:00",
    "2026-01-01T00:00:00",
    "2026-01-01",
    "2026-1-1T00:00:00Z",
    "26-01-01T00:00:00Z",
    " 2026-01-01T00:00:00Z",
    ""
  ])("does not read %j", (text) => assert.isUndefined(parseRfc3339(text)))

  it("reads each time that a date renders", () => {
    const years = { min: new Date("0000-01-01T00:00:00Z"), max: new Date("9999-12-31T23:59:59Z"), noInvalidDate: true }
    fc.assert(fc.property(fc.date(years), (date) => {
      assert.strictEqual(parseRfc3339(date.toISOString()), date.getTime())
    }))
  })
})
