import { parseDate } from "#domain/normalize/dates/ParseDate.ts"
import { decodeAs } from "./DetectEncoding.ts"
import type { EntrySlices } from "./EntrySlices.ts"

const publication = /<(?:[\w.-]+:)?(?:pubDate|published|issued|date)(?:\s[^<>]*)?>\s*(?:<!\[CDATA\[)?([^<\]]{1,100})/i
const update = /<(?:[\w.-]+:)?(?:updated|modified)(?:\s[^<>]*)?>\s*(?:<!\[CDATA\[)?([^<\]]{1,100})/i

/** The date of each entry, found without parsing: its publication, or else its update. Tags and dates are ASCII in all encodings of feeds. */
export const findSliceDates = (
  bytes: Uint8Array,
  { ends, starts }: EntrySlices
): ReadonlyArray<number | undefined> =>
  starts.map((start, index) => {
    const text = decodeAs(bytes.subarray(start, ends[index]), "latin1")
    const date = (publication.exec(text) ?? update.exec(text))?.[1]
    return date === undefined ? undefined : parseDate(date)
  })
