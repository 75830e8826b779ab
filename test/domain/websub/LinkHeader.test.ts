import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { parseLinkHeader } from "#domain/websub/LinkHeader.ts"

const base = "https://blog.example/feeds/a"
const read = (header: string | undefined) => parseLinkHeader(header, base).map(({ href, rel }) => `${rel} ${href}`)

describe("a Link header", () => {
  it("names a link for each of its relations, resolved against the document", () => {
    assert.deepStrictEqual(read("<https://hub.example/>; rel=\"hub\", </feeds/a>; rel=self"), [
      "hub https://hub.example/",
      "self https://blog.example/feeds/a"
    ])
    assert.deepStrictEqual(read("<a?b=c,d;e>;REL = \"Self  alternate\" ; type=\"text/html\""), [
      "self https://blog.example/feeds/a?b=c,d;e",
      "alternate https://blog.example/feeds/a?b=c,d;e"
    ])
    assert.deepStrictEqual(parseLinkHeader("</a>; title=\"a \\\"b\\\", <c>; rel=hub\"; rel=next; type=text/x", base), [
      { href: "https://blog.example/a", rel: "next", type: "text/x" }
    ])
  })

  it("counts the first rel only, and no link of another document", () => {
    assert.deepStrictEqual(read("<https://a.example/>; rel=hub; rel=self"), ["hub https://a.example/"])
    assert.deepStrictEqual(read("<https://a.example/>; rel=hub; anchor=\"https://b.example/\""), [])
    assert.deepStrictEqual(read("<https://a.example/>; rel=hub; anchor=\"#part\""), [])
    assert.deepStrictEqual(read("<https://a.example/>; rel=hub; anchor=\"\""), ["hub https://a.example/"])
    assert.deepStrictEqual(read("<https://a.example/>; rel=hub; anchor=\"/feeds/a\""), ["hub https://a.example/"])
  })

  it.each([
    ["<https://a.example/?x=1,2;3>;rel=hub", "hub https://a.example/?x=1,2;3"],
    ["<https://a.example/>; REL=\"Hub\"", "hub https://a.example/"],
    ["<https://a.example/> ; rel = hub", "hub https://a.example/"],
    ["<https://a.example/>;\t;;rel=hub;", "hub https://a.example/"],
    ["<https://a.example/>; crossorigin; title=\"a, b; rel=self\"; rel=hub", "hub https://a.example/"],
    ["<https://a.example/>; title*=UTF-8'en'a%20b; rel=hub", "hub https://a.example/"],
    ["<https://a.example/>; rel='hub'", "hub https://a.example/"],
    ["<https://a.example/>; rel='x hub'; title='a", "x https://a.example/ hub https://a.example/"],
    [
      "<https://a.example/>; rel=\"http://a.example/x hub\"",
      "http://a.example/x https://a.example/ hub https://a.example/"
    ],
    [", ,<https://a.example/>;rel=\"h\\ub\",", "hub https://a.example/"],
    ["<>; rel=self", "self https://blog.example/feeds/a"],
    ["<//a.example/>;rel=hub", "hub https://a.example/"]
  ])("is read in the spelling %s", (header, links) => {
    assert.strictEqual(read(header).join(" "), links)
  })

  it("is passed over where it makes no sense, up to the next comma", () => {
    assert.deepStrictEqual(read("nonsense; rel=hub, <https://hub.example/>; rel=hub"), ["hub https://hub.example/"])
    assert.deepStrictEqual(read("<https://[bad>; rel=hub, <https://hub.example/>; rel=\"hub"), [])
    assert.deepStrictEqual(read(undefined), [])
  })

  it("ends, whatever it holds", () => {
    const pieces = fc.constantFrom("<", ">", ";", ",", "\"", "\\", "=", " ", "rel", "hub", "http://a.example/")
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 500 }), (parts) => {
        for (const { href } of parseLinkHeader(parts.join(""), base)) assert.isTrue(URL.canParse(href))
      })
    )
    assert.deepStrictEqual(read("<".repeat(1_000_000)), [])
    assert.strictEqual(parseLinkHeader("<a>;rel=hub,".repeat(100_000), base).length, 100)
  })
})
