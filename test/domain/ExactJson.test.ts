import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { parseExactJson } from "#domain/ExactJson.ts"

/** Each replaced number in angle brackets. */
const parse = (text: string): unknown => parseExactJson(text, (digits) => `<${digits}>`)

describe("ExactJson", () => {
  it.each([
    "9007199254740993",
    "-12345678901234567890",
    "1234567.123456789012",
    "0.12345678901234567890",
    "1.610521604143693812e18",
    "1E3",
    "1e400",
    "1.0",
    "19.90",
    "-0",
    "0.00000001"
  ])("%s keeps its digits, at any place", (digits) => {
    assert.strictEqual(parse(digits), `<${digits}>`)
    assert.deepStrictEqual(parse(`{"a":[${digits} , 1],"b":{"c":\n${digits}\n}}`), {
      a: [`<${digits}>`, 1],
      b: { c: `<${digits}>` }
    })
  })

  it.each([
    "0",
    "1",
    "-1",
    "1.5",
    "9007199254740991",
    "0.000001",
    "\"1.0\"",
    "\"12345678901234567890\"",
    "[1,null,true]"
  ])(
    "%s is an ordinary value",
    (text) => assert.deepStrictEqual(parse(text), JSON.parse(text))
  )

  it("a document beyond the depth of a reviver is read without digits", () => {
    const text = `${"[".repeat(20_000)}9007199254740993${"]".repeat(20_000)}`
    let value = parse(text)
    while (Array.isArray(value)) [value] = value
    assert.strictEqual(value, 9007199254740992)
  })

  it("invalid JSON is an error", () => {
    assert.throws(() => parse("{\"id\":9007199254740993,}"), SyntaxError)
  })

  it("any number is printed in its own digits", () => {
    const digits = fc.stringMatching(/^[0-9]{1,20}$/)
    const number = fc.tuple(
      fc.constantFrom("", "-"),
      digits,
      fc.option(digits),
      fc.constantFrom("", "e5", "E-7", "e+30")
    ).map(
      ([sign, whole, decimals, exponent]) =>
        `${sign}${whole.replace(/^0+(?=\d)/, "")}${decimals === null ? "" : `.${decimals}`}${exponent}`
    )
    fc.assert(fc.property(fc.array(number), (numbers) => {
      const values = parseExactJson(`[${numbers.join(",")}]`, (source) => source) as ReadonlyArray<unknown>
      assert.deepStrictEqual(values.map(String), numbers)
    }))
  })
})
