import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as Labels from "#domain/Labels.ts"

const checked = (given: ReadonlyArray<string>) =>
  Result.getOrElse(Labels.check(given, "labels"), ({ message }) => message)

describe("labels", () => {
  it("keep their order; empty and repeated ones go, in composed characters with single spaces", () => {
    assert.deepStrictEqual(checked(["Tech", " ", "News", "Tech", " a \u00a0b ", "Cafe\u0301", "Caf\u00e9"]), [
      "Tech",
      "News",
      "a b",
      "Caf\u00e9"
    ])
  })

  it("are bounded in number and length", () => {
    const numbered = (count: number) => Array.from({ length: count }, (_, i) => `l${i}`)
    assert.deepStrictEqual(checked([...numbered(20), "l0", ""]), numbered(20))
    assert.strictEqual(checked(numbered(21)), "labels names more than 20 labels of one subscription; send fewer.")
    assert.deepStrictEqual(checked(["x".repeat(200)]), ["x".repeat(200)])
    assert.strictEqual(
      checked(["x".repeat(201)]),
      "labels has a label of 201 characters; at most 200 are accepted."
    )
  })

  it("hold no control character and no half of a pair", () => {
    for (const label of ["a\u0007", "a\u007fb", "\ud83e"]) {
      assert.match(String(checked([label])), /^labels has a label with a control character: received /)
    }
  })

  it("merge behind the stored ones, up to the maximum", () => {
    assert.deepStrictEqual(Labels.merge(["b", "a"], ["c", "a"]), ["b", "a", "c"])
    const full = Array.from({ length: 20 }, (_, i) => `l${i}`)
    assert.deepStrictEqual(Labels.merge(full, ["x"]), full)
  })
})
