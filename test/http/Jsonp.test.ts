import { assert, describe, it } from "@effect/vitest"
import { isJsonpName, wrap } from "#http/Jsonp.ts"

describe("Jsonp", () => {
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
    assert.strictEqual(wrap("f", "\"\u2028\u2029\""), "f(\"\\u2028\\u2029\")")
  })
})
