import { maxItemLength } from "./ListLine.ts"

/** A line without its end. `text` is undefined for a line that is too long. */
export interface TextLine {
  readonly line: number
  readonly text: string | undefined
}

/** Splits text into lines, piece by piece, and drops the content of lines that are too long. */
export class TextLines {
  #line = 0
  #begun = ""
  #isTooLong = false

  push(text: string): ReadonlyArray<TextLine> {
    const lines: Array<TextLine> = []
    let start = 0
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", start)) {
      this.#append(text.slice(start, end))
      lines.push(this.#take())
      start = end + 1
    }
    this.#append(text.slice(start))
    return lines
  }

  end(): ReadonlyArray<TextLine> {
    return this.#begun === "" && !this.#isTooLong ? [] : [this.#take()]
  }

  #append(part: string): void {
    if (this.#begun.length + part.length > maxItemLength) {
      this.#isTooLong = true
      this.#begun = ""
    } else if (!this.#isTooLong) this.#begun += part
  }

  #take(): TextLine {
    const text = this.#isTooLong ? undefined : this.#begun.replace(/\r$/, "")
    this.#begun = ""
    this.#isTooLong = false
    return { line: ++this.#line, text }
  }
}
