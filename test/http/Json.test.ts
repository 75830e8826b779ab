import { assert, describe, it } from "@effect/vitest"
import { isJsonpName, wrapJson } from "#http/Json.ts"

describe("Json", () => {
  it.each(["f", "_", "$", "jQuery_1234", "a.b.c", "callbacks[0]", "a.b[12].c"])("%s is a name", (name) => {
    assert.isTrue(isJsonpName(name))
  })

  it.each([
    "",
    "1f",
    "a b",
    "a;b",
    "alert(1)",
    "a.",
    ".a",
    "a[b]",
    "a['b']",
    "a/**/",
    "a\n",
    "a\u2028",
    "a=b",
    "<script>",
    "é",
    "f".repeat(129)
  ])("%j is not a name", (name) => {
    assert.isFalse(isJsonpName(name))
  })

  it("escapes the line separators of older scripts", () => {
    assert.strictEqual(wrapJson("f", "\"\u2028\u2029\""), "f(\"\\u2028\\u2029\")")
  })
})
