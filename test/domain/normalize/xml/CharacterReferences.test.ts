import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { decodeReferences, parseEntityDeclarations } from "#domain/normalize/xml/CharacterReferences.ts"

const escape = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll("\"", "&quot;")

describe("CharacterReferences", () => {
  it("decodes an escaped text once", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom("a", "&", "<", ">", "<p>", "</p>", "\"", ";", "#", "amp;", "é", " ") }),
        (text) => {
          assert.strictEqual(decodeReferences(escape(text)), text)
          assert.strictEqual(decodeReferences(escape(escape(text))), escape(text))
        }
      )
    )
  })

  it.each([
    ["&#65;&#x42;&#X43;", "ABC"],
    ["&#128512;", "😀"],
    ["&#0;&#xd800;&#x110000;&#8;", "\ufffd\ufffd\ufffd\ufffd"],
    ["&#10;", "\n"],
    ["&unknown; &; &# &#x; & &amp", "&unknown; &; &# &#x; & &amp"],
    ["&apos;&nbsp;&thetasym;", "'\u00a0ϑ"],
    ["&amp;lt;", "&lt;"],
    ["&lt;p&gt;&lt;/p&gt;&lt;p &gt;&lt;&gt;&lt;pgt;", "<p></p><p ><><pgt;"]
  ])("reads %j", (text, expected) => {
    assert.strictEqual(decodeReferences(text), expected)
  })

  it("resolves declared entities without recursion", () => {
    const declared = parseEntityDeclarations("[<!ENTITY pub \"A&#233;\"><!ENTITY a \"&b;\"><!ENTITY b '&a;'>]")
    assert.strictEqual(decodeReferences("&pub; &a;", declared), "Aé &b;")
  })
})
