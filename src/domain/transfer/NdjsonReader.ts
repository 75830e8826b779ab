import { readItem } from "./JsonItem.ts"
import { type ListLine, type ListReader, tooLong } from "./ListLine.ts"
import { TextLines } from "./TextLines.ts"

/** Reads JSON lines: an export, or one subscription a line in the same words. */
export class NdjsonReader implements ListReader {
  readonly #lines = new TextLines()

  push(text: string): ReadonlyArray<ListLine> {
    return this.#lines.push(text).flatMap(readLine)
  }

  end(): ReadonlyArray<ListLine> {
    return this.#lines.end().flatMap(readLine)
  }
}

const readLine = (
  { line, text }: { readonly line: number; readonly text: string | undefined }
): ReadonlyArray<ListLine> => {
  if (text === undefined) return [tooLong(line)]
  return text.trim() === "" ? [] : [readJson(line, text)]
}

/** Reads the JSON text of an item. */
export const readJson = (line: number, text: string): ListLine => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // the sentence of the engine would repeat the text, which may hold a secret
    return { _tag: "Refused", line, reason: "The line is not valid JSON." }
  }
  return readItem(line, value)
}
