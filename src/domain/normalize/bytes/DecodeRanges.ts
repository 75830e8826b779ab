import { cleaned, decodeAs, type Encoding, isCleanUtf8 } from "./DetectEncoding.ts"
import type { Range } from "./EntrySlices.ts"

/** Parts of a document as text, in order, and what had to be cleaned in them. */
export interface Pieces {
  readonly texts: ReadonlyArray<string>
  readonly repairs: ReadonlyArray<string>
}

/** Decodes these parts of a document, as far as that is not done yet, and nothing else of it. */
export const piecesOf = (bytes: Uint8Array, ranges: ReadonlyArray<Range>, encoding: Encoding): Pieces => {
  const repairs = new Set<string>()
  const { decoded } = encoding
  const known = decoded !== undefined && isSame(decoded.ranges, ranges) ? decoded.texts : undefined
  const texts = ranges.map(([start, end], index) => {
    const part = bytes.subarray(start, end)
    const text = known?.[index] ?? textOf(part, start, encoding)
    if (encoding.name === "utf-8" && isCleanUtf8(part)) return text
    const result = cleaned(text)
    for (const repair of result.repairs) repairs.add(repair)
    return result.text
  })
  return { texts, repairs: [...repairs] }
}

/** The same list, or both the whole document. */
const isSame = (some: ReadonlyArray<Range>, others: ReadonlyArray<Range>): boolean => {
  if (some === others) return true
  const [one] = some
  const [other] = others
  return some.length === 1 && others.length === 1 && one?.[0] === other?.[0] && one?.[1] === other?.[1]
}

/** Where bytes and characters are counted alike, the range of one is that of the other. */
const textOf = (part: Uint8Array, start: number, { decoded, alike, name }: Encoding): string => {
  const whole = alike && decoded?.texts.length === 1 ? decoded.texts[0] : undefined
  return whole === undefined ? decodeAs(part, name) : whole.slice(start, start + part.length)
}
