import { cleaned, decodeAs, type Encoding, isCleanUtf8 } from "./Decode.ts"
import type { Range } from "./Slices.ts"

/** Parts of a document as text, in order, and what had to be cleaned in them. */
export interface Pieces {
  readonly texts: ReadonlyArray<string>
  readonly repairs: ReadonlyArray<string>
}

/** Decodes these parts of a document, and nothing else of it. */
export const piecesOf = (bytes: Uint8Array, ranges: ReadonlyArray<Range>, encoding: Encoding): Pieces => {
  const repairs = new Set<string>()
  const texts = ranges.map(([start, end]) => {
    const part = bytes.subarray(start, end)
    const text = part.length === bytes.length && encoding.text !== undefined
      ? encoding.text
      : textOf(part, start, encoding)
    if (encoding.name === "utf-8" && isCleanUtf8(part)) return text
    const result = cleaned(text)
    for (const repair of result.repairs) repairs.add(repair)
    return result.text
  })
  return { texts, repairs: [...repairs] }
}

/** Where bytes and characters are counted alike, the range of one is that of the other. */
const textOf = (part: Uint8Array, start: number, { text, alike, name }: Encoding): string =>
  alike && text !== undefined ? text.slice(start, start + part.length) : decodeAs(part, name)
