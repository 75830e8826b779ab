import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { sampleForLanguage } from "#domain/normalize/EntryLanguage.ts"

const html = (value: string) => ({ type: "html", value })
const text = (value: string) => ({ type: "text", value })
const long =
  "Der Fuchs springt über den faulen Hund und läuft davon weil niemand ihn fängt und alle schlafen bis zum Morgen"

describe("sampleForLanguage", () => {
  it("joins the letters of title and content", () => {
    assert.strictEqual(
      sampleForLanguage({
        id: "1",
        title: text("Nachts, 2026:"),
        content: [html(`<p>${long}.</p>`)],
        summary: text("x")
      }),
      `Nachts ${long}`
    )
    assert.strictEqual(sampleForLanguage({ id: "1", summary: text(long) }), long)
  })

  it("leaves out markup, scripts, addresses and names, and decodes references", () => {
    const content =
      `<style>p { color: red }</style><script>let a = "b"</script><!-- note --><p class="x">${long} &uuml;ber</p>` +
      "<a href=\"/x\">https://a.example/b</a> jane@a.example @jane #tag 12345 <img"
    assert.strictEqual(sampleForLanguage({ id: "1", content: [html(content)] }), `${long} über`)
  })

  it("keeps what looks like markup in plain text", () => {
    assert.strictEqual(sampleForLanguage({ id: "1", content: [text(`a < b ${long}`)] }), `a b ${long}`)
  })

  it("is absent for an entry with a language, and for media", () => {
    assert.isUndefined(sampleForLanguage({ id: "1", language: "de", content: [text(long)] }))
    assert.isUndefined(sampleForLanguage({ id: "1", content: [{ type: "image/png", value: long }] }))
    assert.isUndefined(sampleForLanguage({ id: "1" }))
  })

  it.each([
    ["Latin", "a", 100],
    ["Cyrillic", "ж", 50],
    ["Chinese", "中", 34]
  ])("needs enough letters of %s", (_, letter, enough) => {
    assert.isUndefined(sampleForLanguage({ id: "1", title: text(letter.repeat(enough - 1)) }))
    assert.strictEqual(sampleForLanguage({ id: "1", title: text(letter.repeat(enough)) }), letter.repeat(enough))
  })

  it("takes linear time for a text without spaces", () => {
    const entries = Array.from({ length: 2_000 }, (_, n) => ({ id: String(n), content: [text("a".repeat(6_000))] }))
    const start = performance.now()
    for (const entry of entries) assert.strictEqual(sampleForLanguage(entry), "a".repeat(200))
    assert.isBelow(performance.now() - start, 1_500)
  })

  it("has 200 characters at most, of any text", () => {
    const value = fc.string({ minLength: 0, maxLength: 400, unit: "binary" })
    fc.assert(fc.property(value, value, (title, content) => {
      const sample = sampleForLanguage({ id: "1", title: text(title), content: [html(content)] }) ?? ""
      assert.isAtMost(sample.length, 200)
      assert.notMatch(sample, /[<>\d]/)
    }))
  })
})
