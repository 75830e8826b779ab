import {
  type DeclaredEntities,
  decodeReferencesBetween,
  noEntities,
  parseEntityDeclarations
} from "./CharacterReferences.ts"
import { NamespaceScope } from "./NamespaceScope.ts"
import type { TagName } from "./NamespaceScope.ts"
import { internName } from "./InternedNames.ts"
import { appendChild, appendText, noAttributes, noChildren } from "./Element.ts"
import type { Element } from "./Element.ts"

/** A document's elements under a nameless root, and what had to be repaired to get them. */
export interface MarkupTree {
  readonly root: Element
  readonly repairs: ReadonlyArray<string>
}

const maxDepth = 256
const maxElements = 300_000
const maxAttributes = 512
/** An end tag closes no element further up than this. */
const maxUnclosed = 64

/** The repair of a document that breaks off, or lacks its last end tags. */
export const openAtEnd = "elements closed that were open at the end of the document"
const maxSubsetLength = 65_536
const maxStrayEndTags = 100

const TAB = 9
const LINE_FEED = 10
const RETURN = 13
const SPACE = 32
const BANG = 33
const DOUBLE_QUOTE = 34
const QUOTE = 39
const SLASH = 47
const LESS = 60
const EQUALS = 61
const GREATER = 62
const QUESTION = 63

/**
 * Reads markup into a tree whatever its state: it never throws, takes linear time, and nests at most 256 deep.
 *
 * The texts are one document, whole or cut between its entries.
 * What publishers break most is repaired as they meant it: a bare `&` or `<`, an end tag that is missing or misspelt, an entry inside
 * an entry, a CDATA section or comment that never ends, HTML's void elements, a document that stops in the middle.
 */
export const parseMarkup = (texts: ReadonlyArray<string>): MarkupTree => new MarkupParser().read(texts)

class MarkupParser {
  private text = ""
  private readonly root: Element = {
    name: "",
    key: "",
    prefix: "",
    namespace: "",
    attributes: noAttributes,
    text: "",
    children: noChildren
  }
  private readonly repairs = new Set<string>()
  private readonly missing = new Set<string>()
  private at = 0
  private current = this.root
  private scope = NamespaceScope.root
  private name = this.scope.name("")
  /** The open elements, their names and their scopes, outermost first. What lies beyond `depth` is left over. */
  private readonly open: Array<Element> = [this.root]
  private readonly names: Array<TagName> = [this.name]
  private readonly scopes: Array<NamespaceScope> = [this.scope]
  private depth = 0
  /** Where on the stack the open entry is; 0 for none. */
  private entry = 0
  /** Start tags beyond the deepest level that are still open. */
  private beyond = 0
  private count = 0
  private selfClosing = false
  /** The next `]]>`, as far as it was looked for. */
  private sectionEnd = -1
  /** The next `<![CDATA[` behind the present one, likewise. */
  private sectionStart = -1
  /** The next `&`, and the next `<` and `>` behind the beginning of a value, likewise. */
  private ampersand = -1
  private less = -1
  private greater = -1
  /** End tags that closed nothing since the last start tag. */
  private readonly strays = new Set<string>()
  private openLower: ReadonlySet<string> | undefined
  private declared: DeclaredEntities = noEntities

  read(texts: ReadonlyArray<string>): MarkupTree {
    for (const text of texts) this.readPiece(text)
    if (this.count >= maxElements) this.repaired("too many elements: the rest was left out")
    else if (this.depth > 0) this.repaired(openAtEnd)
    return { root: this.root, repairs: [...this.repairs] }
  }

  private readPiece(text: string): void {
    this.text = text
    this.at = 0
    this.sectionEnd = -1
    this.sectionStart = -1
    this.ampersand = -1
    this.less = -1
    this.greater = -1
    this.missing.clear()
    if (text.charCodeAt(0) !== LESS) this.beforeTags()
    while (this.at < text.length && this.count < maxElements) this.step()
  }

  private beforeTags(): void {
    if (this.count > 0) return this.characters()
    const less = this.text.indexOf("<")
    this.at = less < 0 ? this.text.length : less
    if (this.text.slice(0, Math.min(this.at, 1000)).trim() !== "") this.repaired("text before the document skipped")
  }

  private repaired(what: string): void {
    this.repairs.add(what)
  }

  /** One tag, section or declaration, and the text after it. */
  private step(): void {
    const next = this.text.charCodeAt(this.at + 1)
    if (next === SLASH) this.endTag()
    else if (next === BANG) this.declaration()
    else if (next === QUESTION) this.instruction()
    else if (startsName(next)) this.startTag()
    else this.bareLess()
    if (this.at < this.text.length && this.text.charCodeAt(this.at) !== LESS) this.characters()
  }

  private characters(): void {
    const { text } = this
    const start = this.at
    let at = start
    while (isSpaceCode(text.charCodeAt(at))) at++
    if (this.name.container && text.charCodeAt(at) === LESS) {
      this.at = at
      return
    }
    const end = text.indexOf("<", at)
    this.at = end < 0 ? text.length : end
    this.append(this.decoded(start, this.at))
  }

  /** The text between these positions. The next `&` is looked for once, however many texts are without. */
  private decoded(start: number, end: number): string {
    const { text } = this
    if (this.ampersand < start) {
      const found = text.indexOf("&", start)
      this.ampersand = found < 0 ? text.length : found
    }
    return this.ampersand >= end
      ? text.slice(start, end)
      : decodeReferencesBetween(text, start, end, this.ampersand, this.declared)
  }

  private append(text: string): void {
    const { current } = this
    if (current.children === noChildren && current.text === "") current.text = text
    else appendText(current, text)
  }

  /** Up to the next `<` that begins something. */
  private bareLess(): void {
    const { text } = this
    this.repaired("a bare < kept as text")
    let end = this.at
    do end = text.indexOf("<", end + 1)
    while (end >= 0 && !startsMarkup(text.charCodeAt(end + 1)))
    if (end < 0) end = text.length
    this.append(this.decoded(this.at, end))
    this.at = end
  }

  private startTag(): void {
    const { text } = this
    let at = this.at + 1
    while (at < text.length && !isNameEndCode(text.charCodeAt(at))) at++
    const start = this.at + 1
    const end = at
    this.at = at
    this.selfClosing = false
    const code = text.charCodeAt(at)
    const attributes = code === GREATER ? this.plainTag() : this.attributes()
    if (this.depth >= maxDepth && !/(?:item|entry)$/.test(text.slice(start, end))) {
      return this.tooDeep(this.selfClosing)
    }
    const scope = attributes === noAttributes ? this.scope : this.scope.with(attributes)
    this.begin(scope.nameAt(text, start, end), attributes, scope)
  }

  private plainTag(): ReadonlyArray<string> {
    this.at++
    return noAttributes
  }

  private begin(name: TagName, attributes: ReadonlyArray<string>, scope: NamespaceScope): void {
    if (name.entry && !this.name.parent && !this.selfClosing) this.closeBeforeEntry()
    else if (name.fact && this.entry > 0 && this.names[this.entry + 1]?.text === true && this.depth > this.entry) {
      this.closeText()
    }
    const alone = this.selfClosing || name.void
    if (this.depth >= maxDepth) return this.tooDeep(alone)
    this.count++
    const element: Element = {
      name: name.local,
      key: name.key,
      prefix: name.prefix,
      namespace: name.namespace,
      attributes,
      text: "",
      children: noChildren
    }
    appendChild(this.current, element)
    if (!alone) this.push(element, name, scope)
  }

  private tooDeep(alone: boolean): void {
    if (!alone) this.beyond++
    this.repaired("elements nested too deeply: the innermost were left out")
  }

  private push(element: Element, name: TagName, scope: NamespaceScope): void {
    const depth = ++this.depth
    if (name.entry && this.entry === 0) this.entry = depth
    if (this.strays.size > 0) {
      this.strays.clear()
      this.openLower = undefined
    }
    this.open[depth] = element
    this.names[depth] = name
    this.scopes[depth] = scope
    this.current = element
    this.name = name
    this.scope = scope
  }

  /** Leaves `depth` elements open. */
  private closeTo(depth: number): void {
    if (this.entry > depth) this.entry = 0
    this.beyond = 0
    this.openLower = undefined
    this.depth = depth
    this.current = this.open[depth] ?? this.root
    this.name = this.names[depth] ?? this.name
    this.scope = this.scopes[depth] ?? this.scope
  }

  /** No entry stands inside an entry, a title or the like: their end tags are missing. */
  private closeBeforeEntry(): void {
    let depth = this.depth
    while (depth > 0 && this.names[depth]?.parent === false) depth--
    this.repaired("elements closed before an entry")
    this.closeTo(depth)
  }

  /** A date or id inside a title or the like: the text's end tag is missing. */
  private closeText(): void {
    this.repaired("elements closed before the next of the entry")
    this.closeTo(this.entry)
  }

  private endTag(): void {
    const { text } = this
    const start = this.at + 2
    const { raw } = this.name
    const end = start + raw.length
    if (text.charCodeAt(end) === GREATER && this.beyond === 0 && text.startsWith(raw, start) && this.depth > 0) {
      this.at = end + 1
      this.closeTo(this.depth - 1)
    } else this.oddEndTag(start)
  }

  private oddEndTag(start: number): void {
    const { text } = this
    let at = start
    while (at < text.length && !isNameEndCode(text.charCodeAt(at))) at++
    const name = text.slice(start, at)
    while (at < text.length && text.charCodeAt(at) !== GREATER && text.charCodeAt(at) !== LESS) at++
    this.at = text.charCodeAt(at) === GREATER ? at + 1 : at
    if (this.beyond > 0 && name !== this.names[this.entry]?.raw) this.beyond--
    else this.closeNamed(name)
  }

  private closeNamed(raw: string): void {
    if (this.strays.has(raw) || this.strays.size >= maxStrayEndTags && !this.openNames().has(raw.toLowerCase())) return
    const depth = this.lastOpen(raw)
    if (depth === 0) {
      this.strays.add(raw)
      this.repaired("an end tag without its start tag left out")
    } else {
      if (depth !== this.depth || this.name.raw !== raw) {
        this.repaired("elements closed whose end tag was missing or misspelt")
      }
      this.closeTo(depth - 1)
    }
  }

  /** Where on the stack an end tag's element is, if need be in another case; 0 for nowhere near. */
  private lastOpen(raw: string): number {
    const lower = raw.toLowerCase()
    const lowest = Math.max(1, this.depth - maxUnclosed)
    let similar = 0
    for (let depth = this.depth; depth >= lowest; depth--) {
      const name = this.names[depth]
      if (name?.lower !== lower) continue
      if (name.raw === raw) return depth
      if (similar === 0) similar = depth
    }
    return similar > 0 ? similar : this.names[this.entry]?.lower === lower ? this.entry : 0
  }

  /** Collected only in a flood of end tags that close nothing: then the stack stays as it is. */
  private openNames(): ReadonlySet<string> {
    return this.openLower ??= new Set(this.names.slice(0, this.depth + 1).map(({ lower }) => lower))
  }

  /** From behind the tag's name to behind its end. */
  private attributes(): ReadonlyArray<string> {
    const { text } = this
    let found: Array<string> | undefined
    for (;;) {
      this.skipSpace()
      const code = text.charCodeAt(this.at)
      if (code === GREATER) {
        this.at++
        break
      }
      if (code === SLASH && text.charCodeAt(this.at + 1) === GREATER) {
        this.selfClosing = true
        this.at += 2
        break
      }
      if (code === LESS || this.at >= text.length) {
        this.repaired("a tag without its >")
        break
      }
      const name = this.attributeName()
      const value = this.attributeValue()
      if (name === "") continue
      found ??= []
      if (found.length < 2 * maxAttributes) found.push(name, value)
    }
    return found ?? noAttributes
  }

  private attributeName(): string {
    const { text } = this
    const start = this.at
    let at = start
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (code === EQUALS || isNameEndCode(code) && (code !== SLASH || text.charCodeAt(at + 1) === GREATER)) break
    }
    this.at = at
    return internName(text, start, at)
  }

  private attributeValue(): string {
    const { text } = this
    if (text.charCodeAt(this.at) !== EQUALS) {
      this.skipSpace()
      if (text.charCodeAt(this.at) !== EQUALS) return ""
    }
    this.at++
    this.skipSpace()
    const code = text.charCodeAt(this.at)
    return code === DOUBLE_QUOTE ? this.quoted("\"") : code === QUOTE ? this.quoted("'") : this.unquoted()
  }

  private quoted(quote: string): string {
    const start = this.at + 1
    const end = this.seek(quote, start)
    if (end < 0 || this.endsBefore(start, end)) {
      this.repaired("an attribute without its closing quote")
      this.at = start
      return this.unquoted()
    }
    this.at = end + 1
    return this.decoded(start, end)
  }

  /** Whether the tag ends, and another one begins, before a quote that must then belong to something else. */
  private endsBefore(start: number, quote: number): boolean {
    const { text } = this
    if (this.less < start) this.less = indexOrEnd(text, "<", start)
    if (this.less > quote) return false
    if (this.greater < start) this.greater = indexOrEnd(text, ">", start)
    return this.greater < this.less && startsMarkup(text.charCodeAt(this.less + 1))
  }

  private unquoted(): string {
    const { text } = this
    const start = this.at
    let at = start
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (code === GREATER || isSpaceCode(code) || code === SLASH && text.charCodeAt(at + 1) === GREATER) break
    }
    this.at = at
    return this.decoded(start, at)
  }

  private declaration(): void {
    const { text } = this
    if (text.startsWith("<![CDATA[", this.at)) this.section()
    else if (text.startsWith("<!--", this.at)) this.skipTo("-->", 4)
    else if (text.startsWith("<!DOCTYPE", this.at) || text.startsWith("<!doctype", this.at)) this.doctype()
    else this.skipTo(">", 2)
  }

  private instruction(): void {
    this.skipTo("?>", 2)
  }

  /** Behind the needle, or, where it is missing, behind the next `>`. */
  private skipTo(needle: string, from: number): void {
    const end = this.seek(needle, this.at + from)
    if (end >= 0) {
      this.at = end + needle.length
      return
    }
    this.repaired("a comment or declaration without its end")
    const greater = this.seek(">", this.at + from)
    this.at = greater < 0 ? this.text.length : greater + 1
  }

  private section(): void {
    const { text } = this
    const start = this.at + 9
    if (this.sectionEnd < start) this.sectionEnd = this.seek("]]>", start)
    const end = this.sectionEnd
    const lost = this.lostEnd(start, end < 0 ? text.length : end)
    if (lost >= 0) {
      this.repaired("a CDATA section without its end")
      this.append(text.slice(start, lost))
      this.at = lost
    } else {
      this.append(text.slice(start, end))
      this.at = end + 3
    }
  }

  /**
   * Where a section must have ended that has no end of its own.
   *
   * That is so when there is no `]]>` at all, or when the section contains the end tag of its element and then another section's start.
   */
  private lostEnd(start: number, end: number): number {
    if (end < this.text.length && this.nextSection(start) > end) return -1
    const section = this.text.slice(start, end)
    const close = section.indexOf(`</${this.name.raw}`)
    if (end === this.text.length) return close < 0 ? end : start + close
    return close >= 0 && section.includes("<![CDATA[", close) ? start + close : -1
  }

  /** Where the next section begins, looked for once. */
  private nextSection(from: number): number {
    if (this.sectionStart < from) {
      const found = this.seek("[CDATA", from) // `<` and longer needles are slower to find
      this.sectionStart = found < 0 ? this.text.length : found
    }
    return this.sectionStart
  }

  /** A DTD is skipped: only the characters that its internal subset names are kept. */
  private doctype(): void {
    const { text } = this
    const greater = this.seek(">", this.at)
    const subset = this.seek("[", this.at)
    if (greater < 0) this.at = text.length
    else if (subset < 0 || subset > greater) this.at = greater + 1
    else {
      const end = this.subsetEnd(subset)
      if (this.declared === noEntities) {
        this.declared = parseEntityDeclarations(text.slice(subset, Math.min(end, subset + maxSubsetLength)))
      }
      const close = this.seek(">", end)
      this.at = close < 0 ? text.length : close + 1
    }
  }

  private subsetEnd(from: number): number {
    const end = this.seek("]>", from)
    return end >= 0 ? end : Math.max(this.seek("]", from), from)
  }

  private skipSpace(): void {
    const { text } = this
    while (isSpaceCode(text.charCodeAt(this.at))) this.at++
  }

  /** As indexOf; what was not found once is not searched again, so that a flood of openings without an end stays linear. */
  private seek(needle: string, from: number): number {
    if (this.missing.has(needle)) return -1
    const found = this.text.indexOf(needle, from)
    if (found < 0) this.missing.add(needle)
    return found
  }
}

/** The end of the text when there is none. */
const indexOrEnd = (text: string, needle: string, from: number): number => {
  const found = text.indexOf(needle, from)
  return found < 0 ? text.length : found
}

const isSpaceCode = (code: number): boolean =>
  code <= SPACE && (code === SPACE || code === LINE_FEED || code === RETURN || code === TAB)

const startsMarkup = (code: number): boolean => code === SLASH || code === BANG || code === QUESTION || startsName(code)

const startsName = (code: number): boolean =>
  (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || code === 95 || code === 58 || code > 127

/** Letters are told by one comparison. */
const isNameEndCode = (code: number): boolean =>
  code <= GREATER && (code === GREATER || code === SLASH || code === LESS || isSpaceCode(code))
