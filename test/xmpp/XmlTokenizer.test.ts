import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { XmlTokenizer } from "#xmpp/XmlTokenizer.ts"

const stream =
  `<?xml version='1.0'?><stream:stream id="it's > 1"><m a='"<>"'>it's "x" > y &amp; \u{1f600}</m><b/><![CDATA[a ]] > "b' <c>]]></stream:stream>`

const pieces = [
  "<",
  "?xml version='1.0'?>",
  "<",
  `stream:stream id="it's > 1">`,
  "<",
  `m a='"<>"'>`,
  `it's "x" > y &amp; \u{1f600}<`,
  "/m>",
  "<",
  "b/>",
  "<",
  `![CDATA[a ]] > "b' <c>]]>`,
  "<",
  "/stream:stream>"
]

describe("Tokens", () => {
  it("are the same for any division of the stream into reads", () => {
    fc.assert(fc.property(fc.array(fc.nat(stream.length)), (cuts) => {
      const tokens = new XmlTokenizer()
      const ends = [...cuts.toSorted((a, b) => a - b), stream.length]
      const read = ends.flatMap((end, i) => tokens.push(stream.slice(ends[i - 1] ?? 0, end)))
      assert.deepStrictEqual(read, pieces)
    }))
  })

  it.each([
    ["a comment", "<!-- it's"],
    ["a document type", "<!DOCTYPE x [<!ENTITY e 'f'>]>"],
    ["what only begins like a section of text", "<![CDAT>"],
    ["an instruction", "<?php?>"],
    ["a second declaration", "<?xml version='1.0'?>"]
  ])("refuse %s as soon as it begins, however it is spread over reads", (_, text) => {
    for (const size of [1, 2, text.length]) {
      const tokens = new XmlTokenizer()
      tokens.push("<?xml version='1.0'?><s>")
      assert.throws(() => {
        for (let at = 0; at < text.length; at += size) tokens.push(text.slice(at, at + size))
      }, "not allowed in XMPP")
    }
  })

  it("hold a long text, and a long value, until it has ended", () => {
    const tokens = new XmlTokenizer()
    const long = "x".repeat(64 * 1024)
    assert.deepStrictEqual(tokens.push(`<m id="${long}`), ["<"])
    assert.deepStrictEqual(tokens.push(`${long}">${long}`), [`m id="${long}${long}">`])
    assert.deepStrictEqual(tokens.push(long), [])
    assert.deepStrictEqual(tokens.push("</m>"), [`${long}${long}<`, "/m>"])
  })
})
