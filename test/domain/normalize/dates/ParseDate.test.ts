import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { parseDate } from "#domain/normalize/dates/ParseDate.ts"

const iso = (text: string) => {
  const time = parseDate(text)
  return time === undefined ? undefined : new Date(time).toISOString()
}

describe("Dates", () => {
  it.each([
    ["RFC 822 with a four-digit year", "Mon, 02 Sep 2024 12:00:00 +0200", "2024-09-02T10:00:00.000Z"],
    ["RFC 822 with a two-digit year and a zone's name", "Thu, 1 Jan 04 19:48:21 EST", "2004-01-02T00:48:21.000Z"],
    ["a year after the time, as asctime writes", "Sun Jan  4 16:29:06 PST 2004", "2004-01-05T00:29:06.000Z"],
    ["a zone before the year, as Twitter wrote", "Thu Aug 30 17:26:16 +0200 2012", "2012-08-30T15:26:16.000Z"],
    ["ISO 8601 with fractions", "2024-09-02T12:00:00.123456+01:00", "2024-09-02T11:00:00.000Z"],
    ["ISO 8601 with a space and no zone", "2024-09-02 12:00", "2024-09-02T12:00:00.000Z"],
    ["a month alone", "2003-12", "2003-12-01T00:00:00.000Z"],
    ["no century", "03-12-31", "2003-12-31T00:00:00.000Z"],
    ["a day of the year", "03335", "2003-12-01T00:00:00.000Z"],
    ["Unix seconds", "1725278400", "2024-09-02T12:00:00.000Z"],
    ["slashes, year first", "2006/09/15 08:19:53 EDT", "2006-09-15T12:19:53.000Z"],
    ["slashes, American", "9/15/2006 8:19 PM", "2006-09-15T20:19:00.000Z"],
    ["slashes that cannot be American", "15/9/2006", "2006-09-15T00:00:00.000Z"],
    ["dots", "15.9.2006 08:19", "2006-09-15T08:19:00.000Z"],
    ["French", "mar. 3 août 2021 10:00:00 +0200", "2021-08-03T08:00:00.000Z"],
    ["German", "Di, 02 Mär 2021 10:00:00 +0100", "2021-03-02T09:00:00.000Z"],
    ["Korean afternoon in Korea's time", "2004년 05월 28일 오후 01:31:15", "2004-05-28T04:31:15.000Z"],
    ["midnight as 24:00", "2003-12-31T24:00:00Z", "2004-01-01T00:00:00.000Z"],
    ["a named place in summer", "2024-07-01 12:00:00 Europe/Berlin", "2024-07-01T10:00:00.000Z"],
    ["ISO 8601 with milliseconds, as JavaScript writes", "2024-09-02T12:00:00.000Z", "2024-09-02T12:00:00.000Z"],
    ["RFC 822 with one digit for the day", "Mon, 2 Sep 2024 12:00:00 -0230", "2024-09-02T14:30:00.000Z"],
    ["no space behind the weekday, and a French month", "Tue,26 mar 2023 02:55:29 -0530", "2023-03-26T08:25:29.000Z"],
    ["a zone twice", "Mon, 02 Sep 2024 12:00:00 GMT+0000", "2024-09-02T12:00:00.000Z"]
  ])("reads %s", (_name, text, expected) => {
    assert.strictEqual(iso(text), expected)
  })

  it.each([
    "",
    " ",
    "yesterday",
    "2003-13-01",
    "2003-02-30T00:00:00Z",
    "Mon, 31 Feb 2024 00:00:00 GMT",
    "12:00",
    "x".repeat(1000)
  ])(
    "says of %j that it is no date",
    (text) => {
      assert.isUndefined(parseDate(text))
    }
  )

  it("reads dates of JavaScript", () => {
    fc.assert(
      fc.property(
        fc.date({ min: new Date("1970-01-01"), max: new Date("2100-01-01"), noInvalidDate: true }),
        (date) => {
          const seconds = Math.floor(date.getTime() / 1000) * 1000
          assert.strictEqual(parseDate(date.toISOString()), seconds)
          assert.strictEqual(parseDate(date.toUTCString()), seconds)
        }
      )
    )
  })

  it("never throws, and gives whole seconds or undefined", () => {
    const pieces = fc.array(
      fc.constantFrom(
        "Mon",
        ",",
        " ",
        "3",
        "12",
        "2024",
        ":",
        "-",
        "/",
        ".",
        "T",
        "Z",
        "+0100",
        "GMT",
        "mars",
        "pm",
        "한",
        "年"
      ),
      { maxLength: 12 }
    )
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: "binary" }), pieces.map((parts) => parts.join(""))), (text) => {
        const time = parseDate(text)
        assert.strictEqual((time ?? 0) % 1000, 0)
      }),
      { numRuns: 2000 }
    )
  })
})
