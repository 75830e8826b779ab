import type { Context } from "./ElementContext.ts"
import { within } from "./ElementContext.ts"
import type { Element, Node } from "#domain/normalize/xml/Element.ts"
import { isAbsolute, resolve } from "./Urls.ts"

const VOID = new Set([
  "br",
  "hr",
  "img",
  "input",
  "meta",
  "link",
  "area",
  "base",
  "col",
  "embed",
  "param",
  "source",
  "track",
  "wbr"
])

/** Vocabularies whose elements HTML knows without a prefix. */
const PLAIN = new Set(["xhtml", "svg", "mathml", "", "rss", "atom"])

/** The children as HTML, in order, with relative references resolved. */
export const inner = (element: Element, context: Context): string => serialized(element.children, element.text, context)

const serialized = (children: ReadonlyArray<Node>, text: string, context: Context): string => {
  let markup = escapeText(text)
  for (const child of children) markup += typeof child === "string" ? escapeText(child) : outer(child, context)
  return markup
}

const outer = (element: Element, around: Context): string => {
  const context = within(element, around)
  const name = element.prefix === "" || PLAIN.has(element.namespace)
    ? element.name
    : `${element.prefix}:${element.name}`
  const start = `<${name}${attributes(element, context)}`
  if (element.text === "" && element.children.length === 0 && VOID.has(name)) return `${start} />`
  return `${start}>${serialized(element.children, element.text, context)}</${name}>`
}

const attributes = (element: Element, context: Context): string => {
  let markup = ""
  for (let at = 0; at < element.attributes.length; at += 2) {
    const name = element.attributes[at] ?? ""
    const value = element.attributes[at + 1] ?? ""
    if (
      isDeclaration(name) && PLAIN.has(element.namespace) && element.namespace !== "svg" &&
      element.namespace !== "mathml"
    ) continue
    if (name === "xml:base" || !NAME.test(name)) continue
    markup += ` ${name}="${escapeAttribute(URL_ATTRIBUTES.has(name) ? resolveOne(context.base, name, value) : value)}"`
  }
  return markup
}

const NAME = /^[A-Za-z_:][\w:.-]*$/

const isDeclaration = (name: string): boolean => name === "xmlns" || name.startsWith("xmlns:")

const escapeText = (text: string): string =>
  NEEDS_ESCAPE.test(text) ? text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;") : text

const escapeAttribute = (text: string): string =>
  NEEDS_ESCAPE.test(text) ? escapeText(text).replace(/"/g, "&quot;") : text

const NEEDS_ESCAPE = /[&<>"]/

/** Attributes whose value is a URL, in HTML of any age. */
const URL_ATTRIBUTES = new Set([
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

const resolveOne = (base: string, name: string, value: string): string =>
  base === "" || value === "" ? value : name === "srcset" ? resolveSet(base, value) : resolve(base, value)

/** `a.png 1x, b.png 2x` */
const resolveSet = (base: string, value: string): string =>
  value.slice(0, LONGEST).split(/,\s+/).map((candidate) =>
    candidate.trim().replace(/^\S+/, (url) => resolve(base, url))
  ).join(", ")

/**
 * HTML with its relative references resolved.
 *
 * Only the values of URL attributes change; all else stays byte for byte. Looks at each `=`, since most markup has nothing to resolve:
 * one pass, and nothing is built until a relative reference is met.
 */
export const resolveMarkup = (markup: string, base: string): string => {
  if (base === "" || !markup.includes("<")) return markup
  const tags = new Tags(markup)
  let result = ""
  let copied = 0
  let resolved = 0
  for (let at = markup.indexOf("="); at >= 0 && resolved < MOST; at = markup.indexOf("=", at + 1)) {
    if (!mayEndName(markup.charCodeAt(at - 2), markup.charCodeAt(at - 1))) continue
    const value = valueAfter(markup, at)
    if (value === undefined) continue
    const name = nameBefore(markup, at)
    if (!URL_ATTRIBUTES.has(name) || !tags.contain(at)) continue
    const reference = markup.slice(value.start, value.end)
    result += markup.slice(copied, value.start) + escapeAttribute(resolveOne(base, name, unescape(reference)))
    copied = value.end
    at = value.end - 1
    resolved++
  }
  return copied === 0 ? markup : result + markup.slice(copied)
}

/** References resolved in one text at most. */
const MOST = 5000

/** The last two letters of the names above: most attributes have others. */
const ENDS = new Uint8Array(128 * 128)
for (const name of URL_ATTRIBUTES) ENDS[name.charCodeAt(name.length - 2) * 128 + name.charCodeAt(name.length - 1)] = 1

const mayEndName = (last: number, letter: number): boolean =>
  isLetter(letter) ? last < 128 && ENDS[(last | 32) * 128 + (letter | 32)] === 1 : isSpace(letter)

interface Span {
  readonly start: number
  readonly end: number
}

/** Where the value stands, if it is a relative reference that needs a base. */
const valueAfter = (markup: string, sign: number): Span | undefined => {
  let start = sign + 1
  while (isSpace(markup.charCodeAt(start))) start++
  const quote = markup.charCodeAt(start)
  if (quote === 34 || quote === 39) {
    start++
    if (startsAbsolute(markup, start)) return undefined
    const end = markup.indexOf(quote === 34 ? "\"" : "'", start)
    return end < 0 || end - start > LONGEST ? undefined : relative(markup, start, end)
  }
  if (startsAbsolute(markup, start)) return undefined
  let end = start
  while (end < markup.length && !endsUnquoted(markup.charCodeAt(end))) end++
  return relative(markup, start, end)
}

const LONGEST = 4096

const startsAbsolute = (markup: string, at: number): boolean => {
  if (!markup.startsWith("http", at)) return false
  const next = markup.charCodeAt(at + 4)
  return next === 58 || next === 115 && markup.charCodeAt(at + 5) === 58
}

const relative = (markup: string, start: number, end: number): Span | undefined => {
  const value = markup.slice(start, end).trim()
  return value === "" || isAbsolute(value) || value.startsWith("&") || /[<>]/.test(value) ? undefined : { start, end }
}

const endsUnquoted = (code: number): boolean =>
  isSpace(code) || code === 62 || code === 34 || code === 39 || code === 60

const isSpace = (code: number): boolean => code === 32 || code === 10 || code === 13 || code === 9

const LONGEST_NAME = 12

const nameBefore = (markup: string, sign: number): string => {
  let end = sign
  while (end > 0 && isSpace(markup.charCodeAt(end - 1))) end--
  let start = end
  while (start > 0 && end - start <= LONGEST_NAME && isLetter(markup.charCodeAt(start - 1))) start--
  return isSpace(markup.charCodeAt(start - 1)) ? markup.slice(start, end).toLowerCase() : ""
}

const isLetter = (code: number): boolean => (code >= 97 && code <= 122) || (code >= 65 && code <= 90)

/** Tells whether a position is inside a tag; positions are asked for from left to right. */
class Tags {
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
