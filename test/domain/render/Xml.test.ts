import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import {
  dropIllegalCharacters,
  escapeText,
  formatTimestamp,
  renderAttribute,
  renderElement
} from "#domain/render/Xml.ts"
import { hostile } from "#test/generators/Model.ts"
import { content, parse } from "./xml.ts"

describe("Xml", () => {
  it("escapes markup", () => {
    assert.strictEqual(escapeText(`<b>"x" & 'y'</b>]]>`), `&lt;b&gt;"x" &amp; 'y'&lt;/b&gt;]]&gt;`)
    assert.strictEqual(renderAttribute("title", `<"&\n\t>`), ` title="&lt;&quot;&amp;&#10;&#9;&gt;"`)
  })

  it("drops characters that are illegal in XML", () => {
    assert.strictEqual(escapeText("a\0b\x08c\x0bd\x1fe\ufffef\uffffg"), "abcdefg")
    assert.strictEqual(escapeText("tab\tnewline\n\x7f\x85😀"), "tab\tnewline\n\x7f\x85😀")
    assert.strictEqual(escapeText("a\ud800b\udc00c"), "a\ufffdb\ufffdc")
  })

  it("keeps a carriage return from becoming a newline", () => {
    assert.strictEqual(content(parse(renderElement("x", "a\r\nb\rc"))), "a\r\nb\rc")
  })

  it("renders an empty string for absent values", () => {
    assert.deepStrictEqual([renderElement("x", undefined), renderAttribute("x", undefined), renderElement("x", "")], [
      "",
      "",
      "<x></x>"
    ])
  })

  it("gives a strict parser the legal part of any value", () => {
    fc.assert(fc.property(hostile, (value) => {
      const read = parse(renderElement("x", value, renderAttribute("y", value)))
      assert.strictEqual(content(read), dropIllegalCharacters(value))
      assert.strictEqual(read.attributes["y"], dropIllegalCharacters(value))
    }))
  })

  it("formats times as RFC 3339, and rejects years outside of 0 to 9999", () => {
    assert.strictEqual(formatTimestamp(Date.UTC(2013, 9, 12, 20, 45, 19)), "2013-10-12T20:45:19Z")
    assert.strictEqual(formatTimestamp(Date.UTC(2015, 1, 10, 14, 22, 4, 7)), "2015-02-10T14:22:04.007Z")
    assert.deepStrictEqual(
      [undefined, NaN, Infinity, 8.64e15, 253402300800000, -62167219200001].map(formatTimestamp),
      Array(6).fill(undefined)
    )
    assert.strictEqual(formatTimestamp(-62167219200000), "0000-01-01T00:00:00Z")
  })
})
