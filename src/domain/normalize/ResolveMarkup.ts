import { isAbsolute, resolve } from "./Urls.ts"
import { isLetter, isSpace } from "./xml/Ascii.ts"

export const escapeHtmlText = (text: string): string =>
  specialCharacter.test(text) ? text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;") : text

export const escapeHtmlAttribute = (text: string): string =>
  specialCharacter.test(text) ? escapeHtmlText(text).replace(/"/g, "&quot;") : text

const specialCharacter = /[&<>"]/

/** Attributes with a URL, in HTML of any version. */
export const urlAttributes = new Set([
  "href",
  "src",
  "cite",
  "action",
  "poster",
  "background",
  "longdesc",
  "codebase",
  "data",
  "usemap",
  "classid",
  "profile",
  "srcset"
])

export const resolveAttribute = (base: string, name: string, value: string): string =>
  base === "" || value === "" ? value : name === "srcset" ? resolveSrcset(base, value) : resolve(base, value)

/** Resolves a list such as `a.png 1x, b.png 2x`. */
const resolveSrcset = (base: string, value: string): string =>
  value.slice(0, maxValueLength).split(/,\s+/).map((candidate) =>
    candidate.trim().replace(/^\S+/, (url) => resolve(base, url))
  ).join(", ")

/**
 * Resolves the relative references in HTML.
 *
 * Only values of URL attributes change. One pass over the `=` of the markup, because most markup has no relative reference: the result
 * is built only after the first one.
 */
export const resolveMarkup = (markup: string, base: string): string => {
  if (base === "" || !markup.includes("<")) return markup
  const tags = new TagFinder(markup)
  let result = ""
  let copied = 0
  let resolved = 0
  for (let at = markup.indexOf("="); at >= 0 && resolved < maxReferences; at = markup.indexOf("=", at + 1)) {
    if (!mayEndName(markup.charCodeAt(at - 2), markup.charCodeAt(at - 1))) continue
    const value = findRelativeValue(markup, at)
    if (value === undefined) continue
    const name = getNameBefore(markup, at)
    if (!urlAttributes.has(name) || !tags.contain(at)) continue
    const reference = markup.slice(value.start, value.end)
    result += markup.slice(copied, value.start) + escapeHtmlAttribute(resolveAttribute(base, name, unescape(reference)))
    copied = value.end
    at = value.end - 1
    resolved++
  }
  return copied === 0 ? markup : result + markup.slice(copied)
}

/** Resolved references per text. */
const maxReferences = 5000

/** Last two letters of the names of URL attributes, a quick test that most attributes fail. */
const nameEndings = new Uint8Array(128 * 128)
for (const name of urlAttributes) {
  nameEndings[name.charCodeAt(name.length - 2) * 128 + name.charCodeAt(name.length - 1)] = 1
}

const mayEndName = (last: number, letter: number): boolean =>
  isLetter(letter) ? last < 128 && nameEndings[(last | 32) * 128 + (letter | 32)] === 1 : isSpace(letter)

interface Span {
  readonly start: number
  readonly end: number
}

/** The position of the value, if the value is a relative reference. */
const findRelativeValue = (markup: string, sign: number): Span | undefined => {
  let start = sign + 1
  while (isSpace(markup.charCodeAt(start))) start++
  const quote = markup.charCodeAt(start)
  if (quote === 34 || quote === 39) {
    start++
    if (startsAbsolute(markup, start)) return undefined
    const end = markup.indexOf(quote === 34 ? "\"" : "'", start)
    return end < 0 || end - start > maxValueLength ? undefined : asRelative(markup, start, end)
  }
  if (startsAbsolute(markup, start)) return undefined
  let end = start
  while (end < markup.length && !endsUnquoted(markup.charCodeAt(end))) end++
  return asRelative(markup, start, end)
}

const maxValueLength = 4096

const startsAbsolute = (markup: string, at: number): boolean => {
  if (!markup.startsWith("http", at)) return false
  const next = markup.charCodeAt(at + 4)
  return next === 58 || next === 115 && markup.charCodeAt(at + 5) === 58
}

const asRelative = (markup: string, start: number, end: number): Span | undefined => {
  const value = markup.slice(start, end).trim()
  return value === "" || isAbsolute(value) || value.startsWith("&") || /[<>]/.test(value) ? undefined : { start, end }
}

const endsUnquoted = (code: number): boolean =>
  isSpace(code) || code === 62 || code === 34 || code === 39 || code === 60

const maxNameLength = 12

const getNameBefore = (markup: string, sign: number): string => {
  let end = sign
  while (end > 0 && isSpace(markup.charCodeAt(end - 1))) end--
  let start = end
  while (start > 0 && end - start <= maxNameLength && isLetter(markup.charCodeAt(start - 1))) start--
  return isSpace(markup.charCodeAt(start - 1)) ? markup.slice(start, end).toLowerCase() : ""
}

/** Tells whether a position is inside a tag. Positions must come from left to right. */
class TagFinder {
  private readonly markup: string
  private less = -1
  private next: number
  private greater = -1

  constructor(markup: string) {
    this.markup = markup
    this.next = markup.indexOf("<")
  }

  contain(at: number): boolean {
    const { markup } = this
    while (this.next >= 0 && this.next < at) {
      this.less = this.next
      this.next = markup.indexOf("<", this.less + 1)
    }
    if (this.less < 0 || !isLetter(markup.charCodeAt(this.less + 1))) return false
    if (this.greater < this.less) {
      const found = markup.indexOf(">", this.less)
      this.greater = found < 0 ? markup.length : found
    }
    return this.greater > at
  }
}

const unescape = (value: string): string => value.trim().replace(/&amp;/g, "&")
