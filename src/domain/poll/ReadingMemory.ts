import { fragmentOf } from "./Fragment.ts"

/** Shorter documents are read at once, in some milliseconds. */
const minDocumentBytes = 500_000

/** Copies of a feed while it is read: in the thread, as its entries, and as parameters of statements. */
const feedFactor = 3

/** Copies of a document while a fragment of it is selected: its text, and the values of JSON. */
const selectionFactor = 8

/** Bytes of an element in the tree of a selector. */
const elementBytes = 800

const startOfTag = 0x3c // <

/** Memory that reading a document takes besides the document itself; 0 for a small document, whose memory is not counted. */
export const readingBytes = (url: string, body: Uint8Array): number => {
  const { length } = body
  if (fragmentOf(url) === undefined) return length < minDocumentBytes ? 0 : feedFactor * length
  const bytes = selectionFactor * length + elementBytes * countTags(body)
  return bytes < minDocumentBytes ? 0 : bytes
}

const countTags = (body: Uint8Array): number => {
  let count = 0
  for (let at = body.indexOf(startOfTag); at >= 0; at = body.indexOf(startOfTag, at + 1)) count++
  return count
}
