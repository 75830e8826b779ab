import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { decodeDocument } from "#domain/normalize/bytes/DecodeDocument.ts"
import { findMetaCharset } from "#domain/normalize/bytes/MetaCharset.ts"

/** Each character is a byte. */
const bytesOf = (text: string): Uint8Array => Uint8Array.from(text, (character) => character.charCodeAt(0))

/** 条件 in Shift_JIS. */
const shiftJis = "\x8f\xf0\x8c\x8f"
const body = `</head><body><h1>${shiftJis}</h1></body></html>`

describe("charset of a page", () => {
  it.each([
    ["a short attribute", "<meta charset=shift_jis>"],
    ["capitals and another attribute in front", "<META name=x CHARSET='Shift_JIS' />"],
    ["http-equiv", `<meta http-equiv="Content-Type" content="text/html; charset=Shift_JIS">`],
    ["http-equiv in another order", `<meta content='text/html;charset="x-sjis"' http-equiv=content-type>`],
    ["a name of Windows", "<meta charset=cp932>"],
    ["behind a comment of 1,500 bytes", `<!--${" ".repeat(1500)}--><meta charset="shift_jis">`],
    ["behind a style of 90 kB", `<style>${"a{}".repeat(30_000)}</style><meta charset="shift_jis">`],
    ["behind a script that writes another one", `<script>"<meta charset=koi8-r>"</script><meta charset="shift_jis">`],
    ["behind another one inside a comment", `<!-- <meta charset="koi8-r"> --><meta charset="shift_jis">`],
    ["behind another one inside an attribute", `<link title="<meta charset=koi8-r>"><meta charset="shift_jis">`],
    ["behind the end of the head", `</head><body><p>x</p><meta charset="shift_jis">`]
  ])("%s", (_, head) => {
    const page = bytesOf(`<!DOCTYPE html><html><head>${head}<title>x</title>${body}`)
    assert.include(decodeDocument(page, "text/html"), "<h1>条件</h1>")
    assert.include(decodeDocument(page, undefined), "<h1>条件</h1>")
  })

  it("the header has precedence, unless its charset does not fit the bytes", () => {
    const page = bytesOf(`<html><head><meta charset="koi8-r">${body}`)
    assert.include(decodeDocument(page, "text/html; charset=Shift_JIS"), "条件")
    const wrong = bytesOf(`<html><head><meta charset="shift_jis">${body}`)
    assert.include(decodeDocument(wrong, "text/html; charset=utf-8"), "条件")
  })

  it("valid UTF-8 is UTF-8 in spite of a meta element of another encoding", () => {
    const page = new TextEncoder().encode(`<html><meta charset="windows-1251"><p>Привет, мир`)
    assert.include(decodeDocument(page, "text/html"), "<p>Привет, мир")
  })

  it("a few characters of GBK that look like UTF-8 are GBK, as the page says", () => {
    assert.include(decodeDocument(bytesOf(`<html><meta charset="gbk"><p>\xc1\xaa\xcd\xa8`), "text/html"), "<p>联通")
  })

  it("Japanese in seven bits needs its declaration", () => {
    assert.include(
      decodeDocument(bytesOf(`<html><meta charset="iso-2022-jp"><p>\x1b$BF|K\\\x1b(B`), "text/html"),
      "<p>日本"
    )
  })

  it("a feed is no page, although its texts quote pages", () => {
    const feed = bytesOf(`<rss><channel><description>caf\xe9 <meta charset="koi8-r"></description></channel></rss>`)
    assert.include(decodeDocument(feed, "text/html"), "café")
  })

  it("any text has an answer", () => {
    const part = fc.constantFrom(
      "<meta ",
      "charset=",
      "x>",
      "\"",
      "'",
      "<!--",
      "-->",
      "<script>",
      "</script>",
      " ",
      "/",
      "<"
    )
    fc.assert(fc.property(fc.array(part, { maxLength: 40 }), (parts) => {
      assert.notStrictEqual(findMetaCharset(bytesOf(parts.join(""))), "")
    }))
  })
})

describe("charset of other texts", () => {
  it.each([
    ["text/csv; charset=windows-1251", "\xcf\xee\xe3\xee\xe4\xe0,1", "Погода,1"],
    ["text/csv;charset=\"cp 1251\";header=present", "\xcf\xee\xe3\xee\xe4\xe0,1", "Погода,1"],
    ["text/plain; charset=ISO 8859-2", "\xaelu\xbb", "Žluť"],
    ["text/plain; charset=cp852", "\xa5", "ą"],
    ["text/csv; charset=utf-16le", "\x1f\x04,\x001\x00", "П,1"],
    ["text/csv; charset=UTF-16", "\x04\x1f\x00,\x001", "П,1"],
    ["text/csv; charset=windows-1251", "\xef\xbb\xbfcaf\xc3\xa9", "café"],
    ["text/plain", "caf\xe9", "café"]
  ])("%s", (contentType, bytes, text) => {
    assert.strictEqual(decodeDocument(bytesOf(bytes), contentType), text)
  })
})
