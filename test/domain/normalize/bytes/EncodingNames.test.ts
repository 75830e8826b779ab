import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { decodeAs } from "#domain/normalize/bytes/DetectEncoding.ts"
import { canonicalizeLabel } from "#domain/normalize/bytes/EncodingNames.ts"

/** Labels by the encoding that they name. */
const labels: { readonly [encoding: string]: ReadonlyArray<string> } = {
  "utf-8": ["UTF-8", "utf8", "UTF_8", "u8", "cp65001", "utf8mb4", "UTF-8-SIG", "csUTF8"],
  "windows-1250": ["cp1250", "Cp1250", "win-1250", "ansi_1250", "x-cp1250", "cswindows1250", "EE8MSWIN1250"],
  "windows-1251": ["CP-1251", "windows1251", "win1251", "MS_CYRL", "1251", "CL8MSWIN1251", "Windows-1251 (Cyrillic)"],
  "windows-1252": [
    "ISO8859_1",
    "latin 1",
    "l1",
    "ISO 8859-1",
    "iso-8859-1:1987",
    "8859_1",
    "IBM-819",
    "ansi",
    "us",
    "cp367"
  ],
  "windows-1254": ["ISO8859_9", "latin5", "ISO_8859-9:1989", "iso-ir-148", "turkish"],
  "windows-874": ["TIS-620", "TIS620", "cp874", "x-IBM874", "iso8859_11", "thai"],
  "iso-8859-2": ["latin-2", "L2", "ISO 8859-2", "ISO_8859-2:1987", "iso-ir-101", "IBM912", "cp28592"],
  "iso-8859-6": ["asmo-708", "ecma-114", "arabic", "cp1089"],
  "iso-8859-7": ["greek", "ELOT_928", "iso8859_7", "cp813"],
  "iso-8859-8-i": ["ISO-8859-8-I", "csISO88598I", "iso8859_8_i", "cp38598"],
  "iso-8859-15": ["latin9", "latin-9", "L9", "ISO8859_15_FDIS", "iso-8859-15:1999", "Cp923", "csISO885915"],
  "iso-8859-16": ["latin10", "iso-ir-226", "iso8859_16_2001"],
  "ibm866": ["cp866", "866", "dos-866", "csIBM866"],
  "koi8-r": ["koi8r", "KOI8_R", "koi-8", "cskoi8r", "cp20866"],
  "koi8-u": ["koi8_u", "KOI8-RU", "cp21866"],
  "macintosh": ["MacRoman", "mac-roman", "x-MacRoman", "mac", "cp10000"],
  "x-mac-cyrillic": ["mac_cyrillic", "x-MacUkraine"],
  "shift_jis": [
    "SJIS",
    "ShiftJIS",
    "cp932",
    "MS932",
    "Windows-31J",
    "csWindows31J",
    "x-IBM943C",
    "SJIS-win",
    "ms_kanji",
    "932"
  ],
  "euc-jp": ["eucjp", "EUC_JP_LINUX", "eucJP-ms", "ujis", "cp51932", "x-eucJP-Open", "IBM-eucJP", "x-euc"],
  "iso-2022-jp": ["ISO2022JP", "JIS", "cp50221", "x-windows-iso2022jp", "iso2022_jp_2004"],
  "gbk": [
    "cp936",
    "MS936",
    "EUC-CN",
    "eucgb2312_cn",
    "GB_2312-80",
    "CN-GB",
    "iso-ir-58",
    "csISO58GB231280",
    "ZHS16GBK"
  ],
  "gb18030": ["GB18030-2000", "cp54936"],
  "big5": ["cp950", "MS950", "Big-5", "BIGFIVE", "CN-BIG5", "big5-hkscs", "x-MS950-HKSCS", "x-windows-950"],
  "euc-kr": ["cp949", "ms949", "uhc", "x-windows-949", "ks_c_5601-1987", "ksx1001", "korean", "cp51949"],
  "cp437": ["IBM437", "437", "csPC8CodePage437"],
  "cp850": ["IBM-850", "Cp850", "csPC850Multilingual"],
  "cp852": ["ibm852", "csPCp852"],
  "cp858": ["IBM00858"],
  "koi8t": ["KOI8-T"],
  "kz1048": ["KZ-1048", "STRK1048-2002", "RK1048"],
  "maccentraleurope": ["x-mac-ce", "mac_latin2", "x-MacCentralEurope", "cp10029"]
}

const pairs = Object.entries(labels).flatMap(([encoding, names]) => names.map((label) => [label, encoding] as const))

describe("names of encodings", () => {
  it.each(pairs)("%s is %s", (label, encoding) => {
    assert.strictEqual(canonicalizeLabel(label), encoding)
    assert.strictEqual(canonicalizeLabel(` ${label.toUpperCase()} `), encoding)
  })

  it.each([
    "",
    "x-unknown",
    "utf-16",
    "UTF_16LE",
    "ucs-2",
    "UTF-32",
    "unicode",
    "ISO-10646-UCS-2",
    "8859-12",
    "cp99999",
    "constructor"
  ])(
    "%s names no encoding of a text in ASCII letters",
    (label) => assert.isUndefined(canonicalizeLabel(label))
  )

  it("any label has an answer, and the answer is an encoding that can be decoded", () => {
    fc.assert(fc.property(fc.string({ maxLength: 60 }), (label) => {
      const name = canonicalizeLabel(label) ?? "utf-8"
      assert.strictEqual(decodeAs(new TextEncoder().encode("a<b"), name), "a<b")
    }))
  })
})

it.each([
  ["cp437", [0x82, 0xe1], "éß"],
  ["cp850", [0xd5, 0xe1], "ıß"],
  ["cp852", [0xa5, 0xe7], "ąš"],
  ["cp858", [0xd5], "€"],
  ["koi8t", [0xf0, 0x81], "Пғ"],
  ["kz1048", [0xa3], "Ә"],
  ["maccentraleurope", [0x8e, 0xe4], "éš"],
  ["macgreek", [0xe1], "α"]
])("the upper half of %s", (name, bytes, text) => {
  assert.strictEqual(decodeAs(Uint8Array.from([0x3c, 0x61, ...bytes]), name), `<a${text}`)
})
