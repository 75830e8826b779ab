import { assert, describe, it } from "@effect/vitest"
import { isJsonpName, parseJson, toJsonLine, wrapJson } from "#http/Json.ts"

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

  it.each([
    [
      "application/json",
      "{\"id\": 9007199254740993,\r\n\t\"price\": 19.90}\n",
      "{\"id\": 9007199254740993,\"price\": 19.90}"
    ],
    ["application/json", "\ufeff[1e3]", "[1e3]"],
    ["text/plain", "{\"a\": \"one  two\\n\"}", "{\"a\": \"one  two\\n\"}"]
  ])("a line of JSON has the digits and the order of the document", (contentType, text, line) => {
    assert.strictEqual(toJsonLine({ contentType, body: new TextEncoder().encode(text) }), line)
  })

  it("a line of JSON is in the charset of the document", () => {
    const body = Uint8Array.of(0x22, 0xcf, 0xee, 0xe3, 0x22)
    assert.strictEqual(toJsonLine({ contentType: "application/json; charset=windows-1251", body }), "\"Пог\"")
    assert.isUndefined(toJsonLine({ contentType: "application/json", body: new TextEncoder().encode("{]") }))
  })

  it("a parameter keeps the digits that JavaScript would round", () => {
    assert.deepStrictEqual(parseJson("{\"a\":12345678901234567890,\"b\":864000.0,\"c\":1.5,\"d\":0.10}"), {
      a: "12345678901234567890",
      b: 864000,
      c: 1.5,
      d: "0.10"
    })
    assert.isUndefined(parseJson("{"))
  })

  it("escapes the line separators of older scripts", () => {
    assert.strictEqual(wrapJson("f", "\"\u2028\u2029\""), "f(\"\\u2028\\u2029\")")
  })
})
