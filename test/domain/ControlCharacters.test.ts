import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import * as ControlCharacters from "#domain/ControlCharacters.ts"

const esc = "\u001b[31mred\u009b0m\u0007 \u202eevil\u2066\u2069"

describe("ControlCharacters", () => {
  it("strips controls, embeddings, overrides and isolates, and keeps lines and marks", () => {
    assert.strictEqual(ControlCharacters.stripControls(esc), "[31mred0m evil")
    assert.strictEqual(ControlCharacters.stripControls("a\tb\nc\r\n\u200f\u05d0"), "a\tb\nc\r\n\u200f\u05d0")
    assert.strictEqual(ControlCharacters.toSingleLine("a\r\nb\u0000c"), "a bc")
  })

  it("replaces each control character for a terminal", () => {
    assert.strictEqual(
      ControlCharacters.toPrintable("\u001b[2J\u202ea\tb\nc\rd\u200f"),
      "\ufffd[2J\ufffda\tb\nc\ufffdd\ufffd"
    )
    assert.strictEqual(ControlCharacters.toPrintableField("a\tb\r\nc\u009b"), "a b c\ufffd")
  })

  it("leaves no control character in any text for a terminal", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => {
      const bad = /(?![\t\n])[\p{Cc}\u2028-\u202e\u2066-\u2069\u200e\u200f\u061c]/u
      assert.notMatch(ControlCharacters.toPrintable(text), bad)
      assert.notMatch(ControlCharacters.toPrintableField(text), /[\t\n]/)
      assert.notMatch(ControlCharacters.escapeInXml(text), bad)
      assert.deepStrictEqual(JSON.parse(ControlCharacters.escapeInJson(JSON.stringify(text))), text)
      assert.notMatch(ControlCharacters.escapeInJson(JSON.stringify(text)), bad)
    }))
  })

  it("strips all strings of a value, and returns a clean value as it is", () => {
    const clean = { title: { value: "a" }, points: [{ lat: 1 }], complete: true, none: null }
    assert.strictEqual(ControlCharacters.stripControlsIn(clean), clean)
    const points = [{ lat: 1 }]
    const stripped = ControlCharacters.stripControlsIn({ title: { value: esc }, names: ["a", "\u0000b"], points })
    assert.deepStrictEqual(stripped, { title: { value: "[31mred0m evil" }, names: ["a", "b"], points })
    assert.strictEqual(stripped.points, points)
  })
})
