import { assert, describe, it } from "@effect/vitest"
import { fragmentOf, withoutFragment, withQuotedNames } from "#domain/poll/Fragment.ts"

describe("Fragment", () => {
  it("is decoded, and tells its language by its first character", () => {
    assert.deepStrictEqual(fragmentOf("http://example.org/#div%20%3E%20p"), { language: "css", path: "div > p" })
    assert.deepStrictEqual(fragmentOf("http://example.org/#%24.items%5B0%5D"), {
      language: "jsonpath",
      path: "$.items[0]"
    })
    assert.deepStrictEqual(fragmentOf("http://example.org/#a%5Bhref*=%2250%%22%5D"), {
      language: "css",
      path: "a[href*=\"50%\"]"
    })
    assert.deepStrictEqual(fragmentOf("http://example.org/##main"), { language: "css", path: "#main" })
  })

  it("is none without text", () => {
    assert.isUndefined(fragmentOf("http://example.org/"))
    assert.isUndefined(fragmentOf("http://example.org/#"))
    assert.isUndefined(fragmentOf("http://example.org/#%20"))
  })

  it("never leaves", () => {
    assert.strictEqual(withoutFragment("http://example.org/a?b#c"), "http://example.org/a?b")
    assert.strictEqual(withoutFragment("http://example.org/a"), "http://example.org/a")
  })

  it.each([
    ["$..@graph", "$..[\"@graph\"]"],
    ["$.@id", "$[\"@id\"]"],
    ["$.$ref.x", "$[\"$ref\"].x"],
    ["$.og:title", "$[\"og:title\"]"],
    ["$.content-type[0]", "$[\"content-type\"][0]"],
    ["$.1st", "$[\"1st\"]"],
    ["$.a[?(@.@type==\"a.@b\")]", "$.a[?(@[\"@type\"]==\"a.@b\")]"],
    ["$.a[?(@.x > 1.5)]", "$.a[?(@.x > 1.5)]"],
    ["$['.@a']", "$['.@a']"],
    ["$.a.*", "$.a.*"],
    ["$..[0]", "$..[0]"],
    ["$.größe", "$.größe"],
    ["$.a^", "$.a^"],
    ["$..", "$.."]
  ])("quotes the bare names of %s", (path, quoted) => {
    assert.strictEqual(withQuotedNames(path), quoted)
  })
})
