import { isNameEnd, isNameStart, isSpace, startsMarkup } from "./Ascii.ts"
import { appendChild, appendText, type Element, noAttributes, noChildren } from "./Element.ts"
import { MarkupScanner } from "./MarkupScanner.ts"
import { NamespaceScope, type TagName } from "./NamespaceScope.ts"

const BANG = 33
const SLASH = 47
const LESS = 60
const GREATER = 62
const QUESTION = 63

/** The elements of a document under a nameless root, and the repairs that were necessary. */
export interface MarkupTree {
  readonly root: Element
  readonly repairs: ReadonlyArray<string>
  /** The document breaks off inside an entry. The tree does not hold this entry, because half an entry is no entry. */
  readonly isCutInEntry: boolean
}

const maxDepth = 256
const maxElements = 300_000
/** Levels above the open element at which an end tag still closes an element. */
const maxUnclosed = 64
const maxStrayEndTags = 100

/** The repair of a document that is truncated, or lacks its last end tags. */
export const openAtEnd = "elements closed that were open at the end of the document"

/** The repair of entries without end tags. */
const closedBeforeEntry = "elements closed before an entry"

/** The repair of a document that is read in part, because it has too many elements. */
export const tooManyElements = "too many elements: the rest was left out"

/**
 * Reads markup in any state into a tree. Never throws, takes linear time, and nests at most 256 deep.
 *
 * The texts are one document, whole or cut between its entries.
 * The parser repairs the usual faults of publishers: a bare `&` or `<`, a missing or misspelt end tag, an entry inside an entry,
 * an unclosed CDATA section or comment, HTML's void elements, a truncated document.
 */
export const parseMarkup = (texts: ReadonlyArray<string>): MarkupTree => new MarkupParser().read(texts)

class MarkupParser extends MarkupScanner {
  private readonly root: Element = {
    name: "",
    key: "",
    prefix: "",
    namespace: "",
    attributes: noAttributes,
    text: "",
    children: noChildren
  }
  private current = this.root
  private scope = NamespaceScope.root
  private name = this.scope.name("")
  /** The open elements, their names and their scopes, outermost first. Items above `depth` are leftovers. */
  private readonly open: Array<Element> = [this.root]
  private readonly names: Array<TagName> = [this.name]
  private readonly scopes: Array<NamespaceScope> = [this.scope]
  private depth = 0
  /** Depth of the open entry, or 0. */
  private entry = 0
  /** Open start tags beyond the deepest level. */
  private beyond = 0
  private count = 0
  private isCutInEntry = false
  /** The next `]]>`. */
  private sectionEnd = -1
  /** The next `<![CDATA[` behind the present one. */
  private sectionStart = -1
  /** Names of end tags that closed no element since the last start tag. */
  private readonly strays = new Set<string>()
  private openLower: ReadonlySet<string> | undefined

  read(texts: ReadonlyArray<string>): MarkupTree {
    for (const text of texts) this.readText(text)
    if (this.count >= maxElements) this.repair(tooManyElements)
    else if (this.depth > 0) this.repair(openAtEnd)
    if (this.entry > 0) this.dropOpenEntry()
    return { root: this.root, repairs: [...this.repairs], isCutInEntry: this.isCutInEntry }
  }

  /** Removes the open entry, which is the last child of its parent. */
  private dropOpenEntry(): void {
    this.isCutInEntry = true
    this.repair("an entry left out that was open at the end of the document")
    this.open[this.entry - 1]?.children.pop()
  }

  private readText(text: string): void {
    this.start(text)
    this.sectionEnd = -1
    this.sectionStart = -1
    if (text.charCodeAt(0) !== LESS) this.readBeforeTags()
    while (this.at < text.length && this.count < maxElements) this.readNext()
  }

  private readBeforeTags(): void {
    if (this.count > 0) return this.readCharacters()
    const less = this.text.indexOf("<")
    this.at = less < 0 ? this.text.length : less
    if (this.text.slice(0, Math.min(this.at, 1000)).trim() !== "") this.repair("text before the document skipped")
  }

  /** Reads one tag, section or declaration, and the text behind. */
  private readNext(): void {
    const next = this.text.charCodeAt(this.at + 1)
    if (next === SLASH) this.readEndTag()
    else if (next === BANG) this.readDeclaration()
    else if (next === QUESTION) this.skipTo("?>", 2)
    else if (isNameStart(next)) this.readStartTag()
    else this.readBareLess()
    if (this.at < this.text.length && this.text.charCodeAt(this.at) !== LESS) this.readCharacters()
  }

  private readCharacters(): void {
    const { text } = this
    const start = this.at
    let at = start
    while (isSpace(text.charCodeAt(at))) at++
    if (this.name.isContainer && text.charCodeAt(at) === LESS) {
      this.at = at
      return
    }
    const end = text.indexOf("<", at)
    this.at = end < 0 ? text.length : end
    this.append(this.decode(start, this.at))
  }

  private append(text: string): void {
    const { current } = this
    if (current.children === noChildren && current.text === "") current.text = text
    else appendText(current, text)
  }

  /** Reads up to the next `<` that begins markup. */
  private readBareLess(): void {
    const { text } = this
    this.repair("a bare < kept as text")
    let end = this.at
    do end = text.indexOf("<", end + 1)
    while (end >= 0 && !startsMarkup(text.charCodeAt(end + 1)))
    if (end < 0) end = text.length
    this.append(this.decode(this.at, end))
    this.at = end
  }

  private readStartTag(): void {
    const { text } = this
    let at = this.at + 1
    while (at < text.length && !isNameEnd(text.charCodeAt(at))) at++
    const start = this.at + 1
    const end = at
    this.at = at
    this.selfClosing = false
    const code = text.charCodeAt(at)
    const attributes = code === GREATER ? this.skipTagEnd() : this.readAttributes()
    if (this.depth >= maxDepth && !/(?:item|entry)$/.test(text.slice(start, end))) {
      return this.skipTooDeep(this.selfClosing)
    }
    const scope = attributes === noAttributes ? this.scope : this.scope.with(attributes)
    this.begin(scope.nameAt(text, start, end), attributes, scope)
  }

  private skipTagEnd(): ReadonlyArray<string> {
    this.at++
    return noAttributes
  }

  private begin(name: TagName, attributes: ReadonlyArray<string>, scope: NamespaceScope): void {
    if (name.isEntry && !this.name.mayHoldEntries && !this.selfClosing) this.closeBeforeEntry()
    else if (name.isFact && this.entry > 0 && this.names[this.entry + 1]?.isText === true && this.depth > this.entry) {
      this.closeText()
    }
    const alone = this.selfClosing || name.isVoid
    if (this.depth >= maxDepth) return this.skipTooDeep(alone)
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

  private skipTooDeep(alone: boolean): void {
    if (!alone) this.beyond++
    this.repair("elements nested too deeply: the innermost were left out")
  }

  private push(element: Element, name: TagName, scope: NamespaceScope): void {
    const depth = ++this.depth
    if (name.isEntry && this.entry === 0) this.entry = depth
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

  /** An entry begins inside another entry, a title or the like, because end tags are missing. */
  private closeBeforeEntry(): void {
    let depth = this.depth
    while (depth > 0 && this.names[depth]?.mayHoldEntries === false) depth--
    this.repair(closedBeforeEntry)
    this.closeTo(depth)
  }

  /** A date or id begins inside a title or the like, because the text's end tag is missing. */
  private closeText(): void {
    this.repair("elements closed before the next of the entry")
    this.closeTo(this.entry)
  }

  private readEndTag(): void {
    const { text } = this
    const start = this.at + 2
    const { raw } = this.name
    const end = start + raw.length
    if (text.charCodeAt(end) === GREATER && this.beyond === 0 && text.startsWith(raw, start) && this.depth > 0) {
      this.at = end + 1
      this.closeTo(this.depth - 1)
    } else this.readOddEndTag(start)
  }

  private readOddEndTag(start: number): void {
    const { text } = this
    let at = start
    while (at < text.length && !isNameEnd(text.charCodeAt(at))) at++
    const name = text.slice(start, at)
    while (at < text.length && text.charCodeAt(at) !== GREATER && text.charCodeAt(at) !== LESS) at++
    this.at = text.charCodeAt(at) === GREATER ? at + 1 : at
    if (this.beyond > 0 && name !== this.names[this.entry]?.raw) this.beyond--
    else this.closeNamed(name)
  }

  private closeNamed(raw: string): void {
    if (this.strays.has(raw)) return
    if (this.strays.size >= maxStrayEndTags && !this.getOpenNames().has(raw.toLowerCase())) return
    const depth = this.findOpen(raw)
    if (depth === 0) {
      this.strays.add(raw)
      this.repair("an end tag without its start tag left out")
    } else {
      if (depth !== this.depth || this.name.raw !== raw) {
        this.repair("elements closed whose end tag was missing or misspelt")
        if (this.isEntryCutBefore(depth)) this.dropOpenEntry()
      }
      this.closeTo(depth - 1)
    }
  }

  /**
   * Whether an end tag closes the feed around an entry and its open child: the publisher's script failed inside the entry, and its template
   * wrote the last tags. Publishers who omit the end tags of all entries mean no such thing.
   */
  private isEntryCutBefore(depth: number): boolean {
    return depth < this.entry && this.depth > this.entry && !this.repairs.has(closedBeforeEntry)
  }

  /** Depth of the element that an end tag closes, if need be in another case; 0 for none nearby. */
  private findOpen(raw: string): number {
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

  /** Collected only in a flood of stray end tags, because then the stack does not change. */
  private getOpenNames(): ReadonlySet<string> {
    return this.openLower ??= new Set(this.names.slice(0, this.depth + 1).map(({ lower }) => lower))
  }

  private readDeclaration(): void {
    const { text } = this
    if (text.startsWith("<![CDATA[", this.at)) this.readSection()
    else if (text.startsWith("<!--", this.at)) this.skipComment()
    else if (text.startsWith("<!DOCTYPE", this.at) || text.startsWith("<!doctype", this.at)) this.readDoctype()
    else this.skipTo(">", 2)
  }

  /** A truncated document ends inside its last comment. In other documents, a comment without `-->` ends at the next `>`. */
  private skipComment(): void {
    const { text } = this
    const outermost = this.names[1]?.raw ?? ""
    const isTruncated = this.seek("-->", this.at + 4) < 0 && this.seek(`</${outermost}`, this.at) < 0
    if (!isTruncated) return this.skipTo("-->", 4)
    this.repair("a comment or declaration without its end")
    this.at = text.length
  }

  private readSection(): void {
    const { text } = this
    const start = this.at + 9
    if (this.sectionEnd < start) this.sectionEnd = this.seek("]]>", start)
    const end = this.sectionEnd
    const lost = this.findLostEnd(start, end < 0 ? text.length : end)
    if (lost >= 0) {
      this.repair("a CDATA section without its end")
      this.append(text.slice(start, lost))
      this.at = lost
    } else {
      this.append(text.slice(start, end))
      this.at = end + 3
    }
  }

  /**
   * The most likely end of a section without its own `]]>`, or -1.
   *
   * A section has lost its end when there is no `]]>` at all. The same holds when the section contains the end tag of its element and
   * then the start of another section.
   */
  private findLostEnd(start: number, end: number): number {
    if (end < this.text.length && this.findNextSection(start) > end) return -1
    const section = this.text.slice(start, end)
    const close = section.indexOf(`</${this.name.raw}`)
    if (end === this.text.length) return close < 0 ? end : start + close
    return close >= 0 && section.includes("<![CDATA[", close) ? start + close : -1
  }

  /** The start of the next section, or the end of the text. */
  private findNextSection(from: number): number {
    if (this.sectionStart < from) {
      const found = this.seek("[CDATA", from) // `<` and longer needles are slower to find
      this.sectionStart = found < 0 ? this.text.length : found
    }
    return this.sectionStart
  }
}
