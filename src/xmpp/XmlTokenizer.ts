/**
 * Splits a stream of XML at the ends of texts and tags, independent of the boundaries of reads.
 *
 * Each piece ends with the `<` or `>` that the parser searches for. Without that character, ltx would scan to the end of the piece once per
 * character. Comments, instructions and document types throw at their first characters (RFC 6120, 11.1), because ltx waits for ever for the
 * end of a document type and takes a quote in a comment for the start of a value.
 */
export class XmlTokenizer {
  #held = ""
  /** End of the current construct: a text, the start of a tag, a tag, a value in a tag, or a CDATA section. */
  #awaited: "<" | "opening" | ">" | "\"" | "'" | "]]>" = "<"
  /** First characters of the current tag. */
  #opening = ""
  #declared = false

  /** Returns the pieces that this read completes. Throws at constructs that XMPP forbids. */
  push(read: string): ReadonlyArray<string> {
    const pieces: Array<string> = []
    let start = 0
    for (let at = this.#next(read, 0); at >= 0; at = this.#next(read, at + 1)) {
      const next = this.#after(read, at)
      if (next === undefined) continue
      pieces.push(this.#held + read.slice(start, at + 1))
      this.#held = ""
      start = at + 1
      this.#awaited = next
    }
    this.#held += read.slice(start)
    return pieces
  }

  /** Position of the next significant character. A `>` in a text or value is not significant. */
  #next(read: string, from: number): number {
    switch (this.#awaited) {
      case "opening":
        return from < read.length ? from : -1
      case ">":
        endOrQuote.lastIndex = from
        return endOrQuote.exec(read)?.index ?? -1
      case "]]>":
        return read.indexOf(">", from)
      default:
        return read.indexOf(this.#awaited, from)
    }
  }

  /** The state after a piece that ends at `at`; undefined when no piece ends there. */
  #after(read: string, at: number): "<" | "opening" | undefined {
    const found = read[at]
    switch (this.#awaited) {
      case "<":
        this.#opening = ""
        return "opening"
      case "opening":
        this.#awaited = this.#opened(found ?? "")
        return found === ">" ? "<" : undefined
      case ">":
        if (found === ">") return "<"
        this.#awaited = found === "\"" ? "\"" : "'"
        return undefined
      case "]]>":
        return (this.#held.slice(-2) + read.slice(Math.max(0, at - 2), at)).endsWith("]]") ? "<" : undefined
      default:
        this.#awaited = ">"
        return undefined
    }
  }

  /** The end of a tag whose first characters now include `character`; "opening" while more characters decide. */
  #opened(character: string): "opening" | ">" | "]]>" {
    this.#opening += character
    if (this.#opening === cdataStart) return "]]>"
    if (cdataStart.startsWith(this.#opening)) return "opening"
    if (this.#opening.startsWith("!") || character === "?" && this.#declared) {
      throw new Error("comments, instructions and document types are not allowed in XMPP")
    }
    this.#declared = true
    return ">"
  }
}

const endOrQuote = /["'>]/g

/** Start of a CDATA section, after the `<`. */
const cdataStart = "![CDATA["
