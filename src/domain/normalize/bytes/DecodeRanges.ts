import { cleanText, isCleanUtf8 } from "./CleanText.ts"
import { decodeAs, type DetectedEncoding } from "./DetectEncoding.ts"
import type { ByteRange } from "./EntrySlices.ts"

/** Texts of parts of a document, in order, and the repairs of their cleaning. */
export interface DecodedText {
  readonly texts: ReadonlyArray<string>
  readonly repairs: ReadonlyArray<string>
}

/** Decodes parts of a document, unless the detection of the encoding decoded them already. */
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

/** Whether both lists are identical, or both cover the whole document. */
const isSameRanges = (some: ReadonlyArray<ByteRange>, others: ReadonlyArray<ByteRange>): boolean => {
  if (some === others) return true
  const [one] = some
  const [other] = others
  return some.length === 1 && others.length === 1 && one?.[0] === other?.[0] && one?.[1] === other?.[1]
}

/** Cuts the part out of the whole text where each byte is one character; else decodes the part. */
const decodePart = (part: Uint8Array, start: number, { decoded, isSingleByte, name }: DetectedEncoding): string => {
  const whole = isSingleByte && decoded?.texts.length === 1 ? decoded.texts[0] : undefined
  return whole === undefined ? decodeAs(part, name) : whole.slice(start, start + part.length)
}
