import { decodeHTMLStrict } from "entities"

/** Characters 0x80 to 0x9f of windows-1252. */
export const WINDOWS_1252 =
  "\u20ac\u0081\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\u008d\u017d\u008f"
  + "\u0090\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\u009d\u017e\u0178"

/** Entities that the document's own DTD declares, by name, and the characters by which they may still expand the document. */
export interface DeclaredEntities {
  readonly values: ReadonlyMap<string, string>
  budget: number
}

export const noEntities: DeclaredEntities = { values: new Map(), budget: 0 }

const AMPERSAND = 38
const SEMICOLON = 59
const maxReferenceLength = 66

/**
 * The text with its character references replaced once, from left to right: `&amp;lt;` gives `&lt;`.
 *
 * HTML's names need no DTD. An unknown reference stays as written. Numbers 128 to 159 mean windows-1252, as their authors intend.
 * Numbers of characters that XML forbids give U+FFFD.
 */
export const decodeReferences = (text: string, declared: DeclaredEntities = noEntities): string =>
  decodeReferencesBetween(text, 0, text.length, text.indexOf("&"), declared)

/** As `decodeReferences`, between two positions. `first` is the position of the first `&`, at `start` or behind. */
export const decodeReferencesBetween = (
  text: string,
  start: number,
  end: number,
  first: number,
  declared: DeclaredEntities
): string => {
  let result = ""
  let copied = start
  for (let at = first; at >= 0 && at < end; at = text.indexOf("&", at + 1)) {
    let last = findFrequentEnd(text, at + 1)
    let characters: string | undefined
    if (last > 0) {
      const letter = text.charCodeAt(at + 1)
      const tag = letter === L ? matchEscapedTag(text, at) : undefined
      characters = tag === undefined ? frequentReferences[letter] : tag.plain
      if (tag !== undefined) last = at + tag.escaped.length - 1
    } else {
      last = findReferenceEnd(text, at + 1)
      characters = last < 0 ? undefined : resolveReference(text, at + 1, last, declared)
    }
    if (characters === undefined || last >= end) continue
    result += characters === "&" ? text.slice(copied, at + 1) : text.slice(copied, at) + characters
    copied = last + 1
    at = last
  }
  return copied === start ? text.slice(start, end) : result + text.slice(copied, end)
}

const L = 108

/** `amp`, `gt`, `lt` and `quot`, by the codes of their first letters. */
const frequentReferences: { readonly [code: number]: string | undefined } = { 97: "&", 103: ">", [L]: "<", 113: "\"" }

/** The semicolon of a frequent reference, or 0 for another reference. Escaped markup consists of these. */
const findFrequentEnd = (text: string, start: number): number => {
  const first = text.charCodeAt(start)
  if (first === L || first === 103) {
    return text.charCodeAt(start + 1) === 116 && text.charCodeAt(start + 2) === SEMICOLON ? start + 2 : 0
  }
  if (first === 97) return text.startsWith("mp;", start + 1) ? start + 3 : 0
  return first === 113 && text.startsWith("uot;", start + 1) ? start + 4 : 0
}

/** An escaped tag without attributes: `&lt;/p&gt;` and `</p>`. */
interface EscapedTag {
  readonly escaped: string
  readonly plain: string
}

const maxTagLength = 12
/** A power of two. */
const cacheSlots = 64
/** Recent tags. A match saves decoding two references. */
const recentTags: Array<EscapedTag | undefined> = []

/** The whole escaped tag that begins with the `&lt;` at `start`. */
const matchEscapedTag = (text: string, start: number): EscapedTag | undefined => {
  const name = start + 4
  let end = name
  while (end - name < maxTagLength && isTagCharacter(text.charCodeAt(end))) end++
  if (end === name || !text.startsWith("&gt;", end)) return undefined
  const slot = (text.charCodeAt(name) * 7 + text.charCodeAt(end - 1) * 3 + end - name) & (cacheSlots - 1)
  const known = recentTags[slot]
  if (known !== undefined && known.escaped.length === end + 4 - start && text.startsWith(known.escaped, start)) {
    return known
  }
  const tag = makeEscapedTag(text.slice(name, end))
  recentTags[slot] = tag
  return tag
}

/** New strings, because a substring keeps the whole document in memory. */
const makeEscapedTag = (name: string): EscapedTag => ({ escaped: `&lt;${name}&gt;`, plain: `<${name}>` })

/** Whether the code is a small letter, a digit or the slash. */
const isTagCharacter = (code: number): boolean => (code >= 97 && code <= 122) || (code >= 47 && code <= 57)

/** The semicolon of a reference; -1 for an ampersand without a reference. */
const findReferenceEnd = (text: string, start: number): number => {
  const last = Math.min(text.length, start + maxReferenceLength)
  for (let at = start; at < last; at++) {
    const code = text.charCodeAt(at)
    if (code === SEMICOLON) return at > start ? at : -1
    if (code === AMPERSAND || code <= 32 || code === 60) return -1
  }
  return -1
}

/** The characters of the reference between two positions, or `undefined` for an unknown reference. */
const resolveReference = (text: string, start: number, end: number, declared: DeclaredEntities): string | undefined => {
  if (text.charCodeAt(start) !== 35) return resolveName(text.slice(start, end), declared)
  const digits = text.slice(start + 1, end)
  if (/^[xX][0-9a-fA-F]{1,7}$/.test(digits)) return resolveNumber(Number.parseInt(digits.slice(1), 16))
  return /^\d{1,8}$/.test(digits) ? resolveNumber(Number(digits)) : undefined
}

const resolveName = (name: string, declared: DeclaredEntities): string | undefined => {
  if (name === "apos") return "'"
  const value = declared.values.get(name)
  if (value !== undefined) return spendBudget(value, declared)
  const whole = `&${name};`
  const character = htmlName.test(name) ? decodeHTMLStrict(whole) : whole
  return character === whole ? undefined : character
}

const htmlName = /^[A-Za-z][A-Za-z0-9]{1,31}$/

/** Bounds the expansion, because frequent use of a long entity is an attack. */
const spendBudget = (value: string, declared: DeclaredEntities): string | undefined => {
  declared.budget -= value.length
  return declared.budget < 0 ? undefined : value
}

const resolveNumber = (code: number): string => {
  if (code >= 128 && code < 160) return WINDOWS_1252[code - 128] ?? ""
  const forbidden = code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ||
    (code < 32 && code !== 9 && code !== 10 && code !== 13)
  return forbidden ? "\ufffd" : String.fromCodePoint(code)
}

const maxEntities = 300
const maxDeclaredCharacters = 32_768
const maxExpansion = 1_000_000
const entityDeclaration = /<!ENTITY\s+([\w.-]{1,64})\s+(?:"([^"]{0,1024})"|'([^']{0,1024})')\s*>/g

/**
 * The general entities that a DTD's internal subset declares.
 *
 * External entities are ignored. A value's own references are replaced only if they are characters. So an entity never contains another
 * entity, and nested entities ("billion laughs") do not expand.
 */
export const parseEntityDeclarations = (subset: string): DeclaredEntities => {
  const values = new Map<string, string>()
  let total = 0
  for (const [, name = "", double, single] of subset.matchAll(entityDeclaration)) {
    const value = double ?? single ?? ""
    total += value.length
    if (total > maxDeclaredCharacters || values.size >= maxEntities) break
    if (!values.has(name)) values.set(name, decodeReferences(value))
  }
  return { values, budget: maxExpansion }
}
