import { cleanText, decodeAs, type DetectedEncoding, isCleanUtf8 } from "./DetectEncoding.ts"
import type { ByteRange } from "./EntrySlices.ts"

/** Parts of a document as text, in order, and what had to be cleaned in them. */
export interface DecodedText {
  readonly texts: ReadonlyArray<string>
  readonly repairs: ReadonlyArray<string>
}

/** Decodes these parts of a document, as far as that is not done yet, and nothing else of it. */
export const decodeRanges = (
  bytes: Uint8Array,
  ranges: ReadonlyArray<ByteRange>,
  encoding: DetectedEncoding
): DecodedText => {
  const repairs = new Set<string>()
  const { decoded } = encoding
  const known = decoded !== undefined && isSameRanges(decoded.ranges, ranges) ? decoded.texts : undefined
  const texts = ranges.map(([start, end], index) => {
    const part = bytes.subarray(start, end)
    const text = known?.[index] ?? decodePart(part, start, encoding)
    if (encoding.name === "utf-8" && isCleanUtf8(part)) return text
    const result = cleanText(text)
    for (const repair of result.repairs) repairs.add(repair)
    return result.text
  })
  return { texts, repairs: [...repairs] }
}

/** The same list, or both the whole document. */
const isSameRanges = (some: ReadonlyArray<ByteRange>, others: ReadonlyArray<ByteRange>): boolean => {
  if (some === others) return true
  const [one] = some
  const [other] = others
  return some.length === 1 && others.length === 1 && one?.[0] === other?.[0] && one?.[1] === other?.[1]
}

/** Where bytes and characters are counted alike, the range of one is that of the other. */
const decodePart = (part: Uint8Array, start: number, { decoded, isSingleByte, name }: DetectedEncoding): string => {
  const whole = isSingleByte && decoded?.texts.length === 1 ? decoded.texts[0] : undefined
  return whole === undefined ? decodeAs(part, name) : whole.slice(start, start + part.length)
}
