import { decodeHTMLStrict } from "entities"

/**
 * Character references, as publishers use them.
 *
 * HTML's names are known without a DTD; a reference that means nothing stays as it is written; numbers in 128..159 are read as
 * windows-1252, which is what those who write them mean; numbers of characters that XML forbids give U+FFFD.
 */
const REFERENCE = /&(?:#(\d{1,8})|#[xX]([0-9a-fA-F]{1,7})|([A-Za-z][A-Za-z0-9._-]{0,63}));/g

/** What windows-1252 has at 0x80 to 0x9f. */
export const WINDOWS_1252 =
  "\u20ac\u0081\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\u008d\u017d\u008f"
  + "\u0090\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\u009d\u017e\u0178"

/** Entities that the document's own DTD declares, by name. */
export type Declared = ReadonlyMap<string, string>

export const NONE: Declared = new Map()

/**
 * The text with its references replaced.
 *
 * The common ones go in passes over the whole text, which is several times faster than a function call for each; `&amp;` goes last,
 * so that `&amp;lt;` gives `&lt;`.
 */
export const decode = (text: string, declared: Declared = NONE): string => {
  const first = text.indexOf("&")
  if (first < 0) return text
  const plain = text.replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&quot;/g, "\"")
  const rare = hasRare(plain, first) ? decodeRare(plain, declared) : plain
  return rare.replace(/&amp;/g, "&")
}

const hasRare = (text: string, from: number): boolean => {
  for (let at = text.indexOf("&", from); at >= 0; at = text.indexOf("&", at + 1)) {
    if (!text.startsWith("amp;", at + 1)) return true
  }
  return false
}

const decodeRare = (text: string, declared: Declared): string =>
  text.replace(REFERENCE, (whole: string, decimal?: string, hexadecimal?: string, name?: string) => {
    if (name !== undefined) return name === "amp" ? whole : declared.get(name) ?? named(name, whole)
    const character = numbered(decimal === undefined ? Number.parseInt(hexadecimal ?? "", 16) : Number(decimal))
    return character === "&" ? "&amp;" : character
  })

const named = (name: string, whole: string): string => {
  if (name === "apos") return "'"
  const character = decodeHTMLStrict(whole)
  return character === "&" ? "&amp;" : character
}

const numbered = (code: number): string => {
  if (code >= 128 && code < 160) return WINDOWS_1252[code - 128] ?? ""
  const forbidden = code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ||
    (code < 32 && code !== 9 && code !== 10 && code !== 13)
  return forbidden ? "\ufffd" : String.fromCodePoint(code)
}

const MOST_DECLARED = 300
const LONGEST_TOTAL = 32_768
const DECLARATION = /<!ENTITY\s+([\w.-]{1,64})\s+(?:"([^"]{0,1024})"|'([^']{0,1024})')\s*>/g

/**
 * The general entities that a DTD's internal subset declares.
 *
 * Nothing external is resolved, and a value's own references are replaced only where they are characters: an entity never contains
 * another one, so that no amount of nesting ("billion laughs") grows.
 */
export const declarations = (subset: string): Declared => {
  const declared = new Map<string, string>()
  let total = 0
  for (const [, name = "", double, single] of subset.matchAll(DECLARATION)) {
    const value = double ?? single ?? ""
    total += value.length
    if (total > LONGEST_TOTAL || declared.size >= MOST_DECLARED) break
    if (!declared.has(name)) declared.set(name, decode(value))
  }
  return declared
}
