import type { Entry } from "./Entry.ts"

/** Bytes of a character as an escape, such as `\u0000`: the most that JSON needs for it. */
const maxBytesPerCharacter = 6

/** Characters of a number, a boolean or null, and of the quotes, colon and comma around a value. Upper bounds. */
const scalarLength = 24
const frameLength = 4

/** Approximate characters of an entry as JSON. Escapes count as the character that they stand for. */
export const approximateLength = (entry: Entry): number => lengthOf(entry)

/**
 * Bytes of an entry as JSON, or an upper bound of them that is no more than `max`.
 *
 * JSON is rendered only for an entry that is perhaps too long, because this takes longer than everything else that happens to a large document.
 */
export const boundedBytes = (entry: Entry, max: number): number => {
  const bound = maxBytesPerCharacter * lengthOf(entry)
  return bound <= max ? bound : new TextEncoder().encode(JSON.stringify(entry)).length
}

/** Bytes of the first entry with more than `max` as JSON; undefined without one. */
export const findTooLong = (entries: ReadonlyArray<Entry>, max: number): number | undefined => {
  for (const entry of entries) {
    const length = boundedBytes(entry, max)
    if (length > max) return length
  }
  return undefined
}

const lengthOf = (value: unknown): number => {
  if (typeof value === "string") return value.length + frameLength
  if (typeof value !== "object" || value === null) return scalarLength
  let length = frameLength
  if (Array.isArray(value)) {
    for (const item of value) length += lengthOf(item)
    return length
  }
  for (const [key, item] of Object.entries(value)) {
    if (item !== undefined) length += key.length + frameLength + lengthOf(item)
  }
  return length
}
