import { assert, describe, it } from "@effect/vitest"
import { describeDifference } from "#http/management/Difference.ts"

const document = (contentType: string, text: string) => ({ contentType, body: new TextEncoder().encode(text) })

const linesOf = (contentType: string, before: string, after: string) =>
  describeDifference(document(contentType, before), document(contentType, after))?.map(({ kind, text }) =>
    `${kind} ${text}`.trim()
  )

describe("describeDifference", () => {
  it("compares JSON value by value, and keeps its digits", () => {
    assert.deepStrictEqual(
      linesOf(
        "application/json",
        `{"id":12345678901234567890,"a":["x, {y}",1]}`,
        `{"id": 12345678901234567891, "a":["x, {y}",1]}`
      ),
      [
        "same {",
        "removed   \"id\":12345678901234567890,",
        "added   \"id\":12345678901234567891,",
        "same   \"a\":[",
        "same     \"x, {y}\",",
        "same     1",
        "gap"
      ]
    )
  })

  it("compares markup block by block, and leaves out what is far from a change", () => {
    const rows = Array.from({ length: 20 }, (_, i) => `<li>row ${i}</li>`).join("")
    const page = (price: string) => `<ul>${rows}</ul><p class="price">€ ${price}</p>`
    assert.deepStrictEqual(linesOf("text/html", page("1"), page("2")), [
      "gap",
      "same <li>row 19",
      "same </li>",
      "same </ul>",
      `removed <p class="price">€ 1`,
      `added <p class="price">€ 2`,
      "same </p>"
    ])
  })

  it("gives up on texts that differ everywhere, in bounded time", () => {
    const random = (seed: number) =>
      Array.from({ length: 9_000 }, (_, i) => `<p>${(i * 7_919 * seed) % 100_003}</p>`).join("")
    assert.strictEqual(linesOf("text/html", random(1), random(3)), undefined)
  })

  it("reads a string without an end once", () => {
    const started = performance.now()
    const text = `"${"\\\"".repeat(120_000)}`
    assert.lengthOf(linesOf("application/json", text, `${text}x`) ?? [], 2)
    assert.isBelow(performance.now() - started, 1_000)
  })

  it("shows no control characters, and bounds lines", () => {
    const [, removed] = linesOf("text/plain", "a\n\u001b[31mred\u202e\n", "a\nb\n") ?? []
    assert.strictEqual(removed, "removed [31mred")
    const [long = ""] = linesOf("text/plain", "x".repeat(5_000), "y") ?? []
    assert.strictEqual(long, `removed ${"x".repeat(1_000)}`)
  })
})
