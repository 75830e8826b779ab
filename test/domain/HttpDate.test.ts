import { assert, describe, it } from "@effect/vitest"
import { httpDate } from "#domain/HttpDate.ts"

describe("HttpDate", () => {
  it.each([
    "Sun, 06 Nov 1994 08:49:37 GMT",
    "Sunday, 06-Nov-94 08:49:37 GMT",
    "Sun Nov  6 08:49:37 1994",
    " Sun, 06 Nov 1994 09:49:37 +0100 ",
    "1994-11-06T08:49:37Z"
  ])("%s is a date", (text) => {
    assert.strictEqual(httpDate(text), 784_111_777_000)
  })

  it.each([
    "",
    " ",
    "0",
    "-1",
    "12.5",
    "-5",
    "1e3",
    "9999",
    "120, 120",
    "2026-11-28",
    "2026-11-28T08:49:37",
    "Nov 1994",
    "soon",
    "25:61",
    "12:5x"
  ])(
    "%j is none",
    (text) => {
      assert.isUndefined(httpDate(text))
    }
  )
})
