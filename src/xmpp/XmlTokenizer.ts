/**
 * Cuts a stream of XML where text and tags end, however it was spread over reads: each piece ends with the `<` or the `>` that the parser looks for.
 *
 * In a piece without one, ltx searches to its end for every single character. Comments, instructions and document types are refused as soon as they
 * begin, as RFC 6120 (11.1) wants it: ltx looks for the end of a document type that never comes, and a quote in a comment is the beginning of nothing.
 */
export class XmlTokenizer {
  #held = ""
  /** What ends what is being read: text, the beginning of a tag, a tag, a value in it, a section of text. */
  #awaited: "<" | "opening" | ">" | "\"" | "'" | "]]>" = "<"
  /** What is known of how a tag begins. */
  #opening = ""
  #declared = false

  /** The pieces that are complete with this read. Throws at what XMPP does not allow. */
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

  /** Where the next character is that means something; a `>` in a text or in a value means nothing. */
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

  /** What is awaited after a piece that ends here; undefined where none does. */
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

  /** What ends that which begins with one more character; until that is known, the next one is looked at. */
  #opened(character: string): "opening" | ">" | "]]>" {
    this.#opening += character
    if (this.#opening === section) return "]]>"
    if (section.startsWith(this.#opening)) return "opening"
    if (this.#opening.startsWith("!") || character === "?" && this.#declared) {
      throw new Error("comments, instructions and document types are not allowed in XMPP")
    }
    this.#declared = true
    return ">"
  }
}

const endOrQuote = /["'>]/g

/** How a section of text begins, behind the `<`. */
const section = "![CDATA["
