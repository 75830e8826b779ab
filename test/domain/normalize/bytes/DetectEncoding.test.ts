import { assert, describe, it } from "@effect/vitest"
import { readFeed } from "#domain/normalize/ReadFeed.ts"

/** Encoding and first title of a document. */
const read = (bytes: Uint8Array, contentType?: string) => {
  const result = readFeed(bytes, contentType === undefined ? {} : { contentType })
  return result._tag === "Feed" ? [result.feed.encoding, result.feed.header.title?.value] : [result.kind]
}

/** Each character is a byte. */
const bytesOf = (text: string): Uint8Array => Uint8Array.from(text, (character) => character.charCodeAt(0))

const rss = (title: string): string =>
  `<rss version="2.0"><channel><title>${title}</title><item><guid>1</guid></item></channel></rss>`

const declared = (encoding: string, title: string): string =>
  `<?xml version="1.0" encoding="${encoding}"?>${rss(title)}`

describe("encodings", () => {
  it.each([
    ["Shift_JIS", "shift_jis", "\x93\xfa\x96{\x8c\xea\x83\x5c\x95\x5c", "日本語ソ表"],
    ["EUC-JP", "euc-jp", "\xc6\xfc\xcb\xdc\xb8\xec", "日本語"],
    ["ISO-2022-JP", "iso-2022-jp", "\x1b$BF|K\x5c8l\x1b(B", "日本語"],
    ["GB2312", "gbk", "\xd6\xd0\xce\xc4", "中文"],
    ["GB18030", "gb18030", "\xd6\xd0\xce\xc4", "中文"],
    ["Big5", "big5", "\xa4\xa4\xa4\xe5", "中文"],
    ["EUC-KR", "euc-kr", "\xc7\xd1\xb1\xb9\xbe\xee", "한국어"],
    ["windows-1251", "windows-1251", "\xcf\xf0\xe8\xe2\xe5\xf2", "Привет"],
    ["cp1251", "windows-1251", "\xcf\xf0\xe8\xe2\xe5\xf2", "Привет"],
    ["KOI8-R", "koi8-r", "\xf0\xd2\xc9\xd7\xc5\xd4", "Привет"],
    ["ISO-8859-1", "windows-1252", "caf\xe9", "café"],
    ["ISO-8859-2", "iso-8859-2", "\xaelu\xbb", "Žluť"],
    ["ISO-8859-15", "iso-8859-15", "\xa4uro \xbd", "€uro œ"],
    ["windows-1253", "windows-1253", "\xc5\xeb\xeb\xdc\xe4\xe1", "Ελλάδα"],
    ["ISO-8859-9", "windows-1254", "\xddstanbul", "İstanbul"],
    ["windows-1256", "windows-1256", "\xe3\xd1\xcd\xc8\xc7", "مرحبا"],
    ["TIS-620", "windows-874", "\xe4\xb7\xc2", "ไทย"],
    ["macintosh", "macintosh", "caf\x8e", "café"]
  ])("%s by the XML declaration, or by the header", (label, name, bytes, title) => {
    assert.deepStrictEqual(read(bytesOf(declared(label, bytes))), [name, title])
    assert.deepStrictEqual(read(bytesOf(rss(bytes)), `application/rss+xml; charset="${label}"`), [name, title])
  })

  const wide = (width: 2 | 4, little: boolean, mark: boolean): Uint8Array => {
    const text = `${mark ? "\ufeff" : ""}${rss("é日")}`
    const bytes = new Uint8Array(width * text.length)
    const view = new DataView(bytes.buffer)
    for (let at = 0; at < text.length; at++) {
      if (width === 2) view.setUint16(2 * at, text.charCodeAt(at), little)
      else view.setUint32(4 * at, text.charCodeAt(at), little)
    }
    return bytes
  }

  it.each(
    [
      ["utf-16le", 2, true],
      ["utf-16be", 2, false],
      ["utf-32le", 4, true],
      ["utf-32be", 4, false]
    ] as const
  )("%s with a byte order mark and without", (name, width, little) => {
    assert.deepStrictEqual(read(wide(width, little, true)), [name, "é日"])
    assert.deepStrictEqual(read(wide(width, little, false)), [name, "é日"])
  })

  it("a byte order mark overrides all declarations", () => {
    const bytes = new TextEncoder().encode(`\ufeff${declared("windows-1251", "é日")}`)
    assert.deepStrictEqual(read(bytes, "text/xml; charset=koi8-r"), ["utf-8", "é日"])
  })

  it("a declaration of UTF-16 in ASCII letters is wrong", () => {
    assert.deepStrictEqual(read(new TextEncoder().encode(declared("utf-16", "é"))), ["utf-8", "é"])
  })

  it("an unknown encoding is ignored", () => {
    assert.deepStrictEqual(read(bytesOf(declared("x-unknown", "caf\xe9"))), ["windows-1252", "café"])
  })

  it("the declaration is valid, but not the charset of the header", () => {
    assert.deepStrictEqual(
      read(bytesOf(declared("windows-1251", "\xcf\xf0\xe8\xe2\xe5\xf2")), "text/xml; charset=utf-8"),
      [
        "windows-1251",
        "Привет"
      ]
    )
  })

  it("undeclared bytes that are no UTF-8 are windows-1252", () => {
    assert.deepStrictEqual(read(bytesOf(rss("caf\xe9 \x93x\x94"))), ["windows-1252", "café “x”"])
  })

  it("a few broken bytes in UTF-8 are replaced, the rest stays", () => {
    const text = new TextEncoder().encode(rss("日本語日本語 x"))
    text[text.indexOf(0x78, 40)] = 0xff
    assert.deepStrictEqual(read(text), ["utf-8", "日本語日本語 \ufffd"])
  })

  it("large documents are decoded in parts: characters stay whole", () => {
    const items = Array.from(
      { length: 300 },
      (_, n) => `<item><guid>${n}</guid><title>${"日本é".repeat(60)}</title></item>`
    )
    const bytes = new TextEncoder().encode(
      `<rss version="2.0"><channel><title>t</title>${items.join("")}</channel></rss>`
    )
    const result = readFeed(bytes)
    assert.isAbove(bytes.length, 120_000)
    assert.deepStrictEqual(
      result._tag === "Feed" ? new Set(result.feed.entries.map(({ title }) => title?.value)) : result.kind,
      new Set(["日本é".repeat(60)])
    )
  })
})
