import { decodeHTMLStrict } from "entities"

/**
 * Character references, as publishers use them.
 *
 * HTML's names are known without a DTD; a reference that means nothing stays as it is written; numbers in 128..159 are read as
 * windows-1252, which is what those who write them mean; numbers of characters that XML forbids give U+FFFD.
 */
/** What windows-1252 has at 0x80 to 0x9f. */
export const WINDOWS_1252 =
  "\u20ac\u0081\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\u008d\u017d\u008f"
  + "\u0090\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\u009d\u017e\u0178"

/** Entities that the document's own DTD declares, by name, and how many characters they may still become in it. */
export interface Declared {
  readonly values: ReadonlyMap<string, string>
  budget: number
}

export const NONE: Declared = { values: new Map(), budget: 0 }

const AMPERSAND = 38
const SEMICOLON = 59
const LONGEST_REFERENCE = 66

/** The text with its references replaced, from left to right and once: `&amp;lt;` gives `&lt;`. */
export const decode = (text: string, declared: Declared = NONE): string => {
  let at = text.indexOf("&")
  if (at < 0) return text
  let result = ""
  let copied = 0
  for (; at >= 0; at = text.indexOf("&", at + 1)) {
    let end = frequentEnd(text, at + 1)
    let character: string | undefined
    if (end > 0) character = FREQUENT[text.charCodeAt(at + 1)]
    else {
      end = referenceEnd(text, at + 1)
      character = end < 0 ? undefined : referred(text, at + 1, end, declared)
    }
    if (character === undefined) continue
    result += text.slice(copied, at) + character
    copied = end + 1
    at = end
  }
  return copied === 0 ? text : result + text.slice(copied)
}

/** By the codes of their first letters: `amp`, `gt`, `lt`, `quot`. */
const FREQUENT: { readonly [code: number]: string | undefined } = { 97: "&", 103: ">", 108: "<", 113: "\"" }

/** Where the semicolon of one of these is, of which escaped markup is full; 0 for another. */
const frequentEnd = (text: string, start: number): number => {
  const first = text.charCodeAt(start)
  if (first === 108 || first === 103) {
    return text.charCodeAt(start + 1) === 116 && text.charCodeAt(start + 2) === SEMICOLON ? start + 2 : 0
  }
  if (first === 97) return text.startsWith("mp;", start + 1) ? start + 3 : 0
  return first === 113 && text.startsWith("uot;", start + 1) ? start + 4 : 0
}

/** Where its semicolon is; -1 for an ampersand that begins no reference. */
const referenceEnd = (text: string, start: number): number => {
  const last = Math.min(text.length, start + LONGEST_REFERENCE)
  for (let at = start; at < last; at++) {
    const code = text.charCodeAt(at)
    if (code === SEMICOLON) return at > start ? at : -1
    if (code === AMPERSAND || code <= 32 || code === 60) return -1
  }
  return -1
}

/** What the reference between these positions means; `undefined` when it means nothing. */
const referred = (text: string, start: number, end: number, declared: Declared): string | undefined => {
  if (text.charCodeAt(start) !== 35) return named(text.slice(start, end), declared)
  const digits = text.slice(start + 1, end)
  if (/^[xX][0-9a-fA-F]{1,7}$/.test(digits)) return numbered(Number.parseInt(digits.slice(1), 16))
  return /^\d{1,8}$/.test(digits) ? numbered(Number(digits)) : undefined
}

const named = (name: string, declared: Declared): string | undefined => {
  if (name === "apos") return "'"
  const value = declared.values.get(name)
  if (value !== undefined) return spent(value, declared)
  const whole = `&${name};`
  const character = NAME.test(name) ? decodeHTMLStrict(whole) : whole
  return character === whole ? undefined : character
}

const NAME = /^[A-Za-z][A-Za-z0-9]{1,31}$/

/** Declared entities may only grow a document so far: a long one used often is an attack. */
const spent = (value: string, declared: Declared): string | undefined => {
  declared.budget -= value.length
  return declared.budget < 0 ? undefined : value
}

const numbered = (code: number): string => {
  if (code >= 128 && code < 160) return WINDOWS_1252[code - 128] ?? ""
  const forbidden = code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ||
    (code < 32 && code !== 9 && code !== 10 && code !== 13)
  return forbidden ? "\ufffd" : String.fromCodePoint(code)
}

const MOST_DECLARED = 300
const LONGEST_TOTAL = 32_768
const MOST_GROWTH = 1_000_000
const DECLARATION = /<!ENTITY\s+([\w.-]{1,64})\s+(?:"([^"]{0,1024})"|'([^']{0,1024})')\s*>/g

/**
 * The general entities that a DTD's internal subset declares.
 *
 * Nothing external is resolved, and a value's own references are replaced only where they are characters: an entity never contains
 * another one, so that no amount of nesting ("billion laughs") grows.
 */
export const declarations = (subset: string): Declared => {
  const values = new Map<string, string>()
  let total = 0
  for (const [, name = "", double, single] of subset.matchAll(DECLARATION)) {
    const value = double ?? single ?? ""
    total += value.length
    if (total > LONGEST_TOTAL || values.size >= MOST_DECLARED) break
    if (!values.has(name)) values.set(name, decode(value))
  }
  return { values, budget: MOST_GROWTH }
}
