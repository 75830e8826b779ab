import { type ListLine, type ListReader, maxItemLength, tooLong } from "./ListLine.ts"
import { readJson } from "./NdjsonReader.ts"

/** Keys of the object that holds the list. */
const listKeys: ReadonlySet<string> = new Set(["subscriptions", "feeds"])

/** Nesting at which no item is a subscription. */
const maxDepth = 64

/**
 * Reads a JSON array of items, or an object with such an array as `subscriptions` or `feeds`.
 *
 * Splits the document into its items, and parses each alone. So a document of any length needs the memory of one item.
 */
export class JsonListReader implements ListReader {
  #depth = 0
  /** Depth of the list while it is open. */
  #listDepth = 0
  #isInString = false
  #isEscaped = false
  /** The last string directly in the object around the list. */
  #key = ""
  /** The text of the item so far; undefined between two items. */
  #item: string | undefined
  #isTooLong = false
  #items = 0
  #hasList = false
  #isOver = false

  push(text: string): ReadonlyArray<ListLine> {
    const lines: Array<ListLine> = []
    let start = 0
    for (let at = 0; at < text.length && !this.#isOver; at++) {
      const unit = text.charCodeAt(at)
      if (this.#isInString) {
        this.#readString(unit)
        continue
      }
      if (this.#isItemEnd(unit)) {
        this.#append(text.slice(start, at))
        lines.push(this.#takeItem())
      } else if (this.#isItemStart(unit)) {
        this.#item = ""
        start = at
      }
      const fault = this.#readUnit(unit)
      if (fault !== undefined) {
        this.#isOver = true
        return [...lines, { _tag: "Fault", line: this.#items, reason: fault }]
      }
    }
    if (this.#item !== undefined) this.#append(text.slice(start))
    return lines
  }

  end(): ReadonlyArray<ListLine> {
    if (this.#isOver) return []
    if (this.#depth > 0 || this.#isInString) {
      const reason = "The list ends within an item: the file may be cut. The items before are imported."
      return [{ _tag: "Fault", line: this.#items, reason }]
    }
    return this.#hasList
      ? []
      : [{ _tag: "Fault", line: 1, reason: "The JSON is neither a list nor an object with \"subscriptions\"." }]
  }

  #isItemStart(unit: number): boolean {
    return this.#item === undefined && this.#listDepth > 0 && this.#depth === this.#listDepth &&
      unit !== comma && unit !== closeBracket && unit > space
  }

  #isItemEnd(unit: number): boolean {
    return this.#item !== undefined && this.#depth === this.#listDepth && (unit === comma || unit === closeBracket)
  }

  #readString(unit: number): void {
    if (this.#isEscaped) this.#isEscaped = false
    else if (unit === backslash) this.#isEscaped = true
    else if (unit === quote) this.#isInString = false
    if (this.#depth === 1 && this.#listDepth === 0 && unit !== quote && this.#key.length < 32) {
      this.#key += String.fromCharCode(unit)
    }
  }

  /** Follows the nesting. Returns why the document cannot be read further. */
  #readUnit(unit: number): string | undefined {
    if (unit === quote) {
      this.#isInString = true
      if (this.#depth === 1 && this.#listDepth === 0) this.#key = ""
    } else if (unit === openBracket || unit === openBrace) {
      const isList = unit === openBracket && this.#listDepth === 0 &&
        (this.#depth === 0 || this.#depth === 1 && listKeys.has(this.#key))
      if (++this.#depth > maxDepth) return `The JSON is nested deeper than ${maxDepth} levels.`
      if (isList) {
        this.#listDepth = this.#depth
        this.#hasList = true
      }
    } else if (unit === closeBracket || unit === closeBrace) {
      if (this.#depth === this.#listDepth) this.#listDepth = 0
      if (--this.#depth < 0) return "The JSON closes more brackets than it opens."
    }
    return undefined
  }

  #append(part: string): void {
    if ((this.#item ?? "").length + part.length > maxItemLength) {
      this.#isTooLong = true
      this.#item = ""
    } else if (!this.#isTooLong) this.#item += part
  }

  #takeItem(): ListLine {
    const text = this.#item ?? ""
    const line = ++this.#items
    const isTooLong = this.#isTooLong
    this.#item = undefined
    this.#isTooLong = false
    return isTooLong ? tooLong(line) : readJson(line, text)
  }
}

const space = 32
const quote = 34
const comma = 44
const openBracket = 91
const backslash = 92
const closeBracket = 93
const openBrace = 123
const closeBrace = 125
