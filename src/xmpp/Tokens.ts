/**
 * Cuts a stream of XML where text and tags end, however it was spread over reads: each piece ends with the `<` or the `>` that the parser looks for.
 *
 * In a piece without one, ltx searches to its end for every single character. Comments and CDATA, which no server sends, may be held back
 * until a quote comes; they are never lost.
 */
export class Tokens {
  #held = ""
  /** What ends what is being read: text, a tag, or a value in it. */
  #awaited: "<" | ">" | "\"" | "'" = "<"

  /** The pieces that are complete with this read. */
  add(read: string): ReadonlyArray<string> {
    const pieces: Array<string> = []
    let start = 0
    for (let at = this.#next(read, 0); at >= 0; at = this.#next(read, at + 1)) {
      const found = read[at]
      if (found === "\"" || found === "'") {
        this.#awaited = this.#awaited === ">" ? found : ">"
        continue
      }
      pieces.push(this.#held + read.slice(start, at + 1))
      this.#held = ""
      start = at + 1
      this.#awaited = found === "<" ? ">" : "<"
    }
    this.#held += read.slice(start)
    return pieces
  }

  /** Where the next character is that means something; a `>` in a text or in a value means nothing. */
  #next(read: string, from: number): number {
    if (this.#awaited !== ">") return read.indexOf(this.#awaited, from)
    endOrQuote.lastIndex = from
    return endOrQuote.exec(read)?.index ?? -1
  }
}

const endOrQuote = /["'>]/g
