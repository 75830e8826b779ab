import { isNameEnd, isSpace, startsMarkup } from "./Ascii.ts"
import {
  type DeclaredEntities,
  decodeReferencesBetween,
  noEntities,
  parseEntityDeclarations
} from "./CharacterReferences.ts"
import { noAttributes } from "./Element.ts"
import { internName } from "./InternedNames.ts"

const DOUBLE_QUOTE = 34
const QUOTE = 39
const SLASH = 47
const LESS = 60
const EQUALS = 61
const GREATER = 62

const maxAttributes = 512
const maxSubsetLength = 65_536

/**
 * A position in a text, and readers of the pieces of markup at that position.
 *
 * The next `&`, `<`, `>` and each needle without a match are remembered. So a flood of openings without an end takes linear time.
 */
export class MarkupScanner {
  protected text = ""
  protected at = 0
  protected selfClosing = false
  protected readonly repairs = new Set<string>()
  private readonly missing = new Set<string>()
  /** The next `&`. */
  private ampersand = -1
  /** The next `<` and the next `>` behind the beginning of a value. */
  private less = -1
  private greater = -1
  private entities: DeclaredEntities = noEntities

  protected start(text: string): void {
    this.text = text
    this.at = 0
    this.ampersand = -1
    this.less = -1
    this.greater = -1
    this.missing.clear()
  }

  protected repair(description: string): void {
    this.repairs.add(description)
  }

  /** The text between two positions, with its references replaced. One search for `&` serves all texts before the match. */
  protected decode(start: number, end: number): string {
    const { text } = this
    if (this.ampersand < start) this.ampersand = indexOrEnd(text, "&", start)
    return this.ampersand >= end
      ? text.slice(start, end)
      : decodeReferencesBetween(text, start, end, this.ampersand, this.entities)
  }

  /** Moves from behind the tag's name to behind its end. */
  protected readAttributes(): ReadonlyArray<string> {
    const { text } = this
    let attributes: Array<string> | undefined
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
        this.repair("a tag without its >")
        break
      }
      const name = this.readAttributeName()
      const value = this.readAttributeValue()
      if (name === "") continue
      attributes ??= []
      if (attributes.length < 2 * maxAttributes) attributes.push(name, value)
    }
    return attributes ?? noAttributes
  }

  private readAttributeName(): string {
    const { text } = this
    const start = this.at
    let at = start
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (code === EQUALS || isNameEnd(code) && (code !== SLASH || text.charCodeAt(at + 1) === GREATER)) break
    }
    this.at = at
    return internName(text, start, at)
  }

  private readAttributeValue(): string {
    const { text } = this
    if (text.charCodeAt(this.at) !== EQUALS) {
      this.skipSpace()
      if (text.charCodeAt(this.at) !== EQUALS) return ""
    }
    this.at++
    this.skipSpace()
    const code = text.charCodeAt(this.at)
    return code === DOUBLE_QUOTE
      ? this.readQuotedValue("\"")
      : code === QUOTE
      ? this.readQuotedValue("'")
      : this.readUnquotedValue()
  }

  private readQuotedValue(quote: string): string {
    const start = this.at + 1
    const end = this.seek(quote, start)
    if (end < 0 || this.hasTagBefore(start, end)) {
      this.repair("an attribute without its closing quote")
      this.at = start
      return this.readUnquotedValue()
    }
    this.at = end + 1
    return this.decode(start, end)
  }

  /** Whether the tag ends and another tag begins before the quote. Then the quote belongs to other markup. */
  private hasTagBefore(start: number, quote: number): boolean {
    const { text } = this
    if (this.less < start) this.less = indexOrEnd(text, "<", start)
    if (this.less > quote) return false
    if (this.greater < start) this.greater = indexOrEnd(text, ">", start)
    return this.greater < this.less && startsMarkup(text.charCodeAt(this.less + 1))
  }

  private readUnquotedValue(): string {
    const { text } = this
    const start = this.at
    let at = start
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (code === GREATER || isSpace(code) || code === SLASH && text.charCodeAt(at + 1) === GREATER) break
    }
    this.at = at
    return this.decode(start, at)
  }

  private skipSpace(): void {
    const { text } = this
    while (isSpace(text.charCodeAt(this.at))) this.at++
  }

  /** Moves behind the needle. Where the needle is missing, moves behind the next `>`. */
  protected skipTo(needle: string, from: number): void {
    const end = this.seek(needle, this.at + from)
    if (end >= 0) {
      this.at = end + needle.length
      return
    }
    this.repair("a comment or declaration without its end")
    const greater = this.seek(">", this.at + from)
    this.at = greater < 0 ? this.text.length : greater + 1
  }

  /** Skips a DTD, except for the entities that its internal subset declares. */
  protected readDoctype(): void {
    const { text } = this
    const greater = this.seek(">", this.at)
    const subset = this.seek("[", this.at)
    if (greater < 0) this.at = text.length
    else if (subset < 0 || subset > greater) this.at = greater + 1
    else {
      const end = this.findSubsetEnd(subset)
      if (this.entities === noEntities) {
        this.entities = parseEntityDeclarations(text.slice(subset, Math.min(end, subset + maxSubsetLength)))
      }
      const close = this.seek(">", end)
      this.at = close < 0 ? text.length : close + 1
    }
  }

  private findSubsetEnd(from: number): number {
    const end = this.seek("]>", from)
    return end >= 0 ? end : Math.max(this.seek("]", from), from)
  }

  /** As `indexOf`, but a needle without a match is not searched again in this text. */
  protected seek(needle: string, from: number): number {
    if (this.missing.has(needle)) return -1
    const found = this.text.indexOf(needle, from)
    if (found < 0) this.missing.add(needle)
    return found
  }
}

/** The position of the needle, or the end of the text. */
const indexOrEnd = (text: string, needle: string, from: number): number => {
  const found = text.indexOf(needle, from)
  return found < 0 ? text.length : found
}
