import { decodeRanges } from "#domain/normalize/bytes/DecodeRanges.ts"
import { detectEncoding } from "#domain/normalize/bytes/DetectEncoding.ts"

/** The text of a document. Valid UTF-8 is read as UTF-8; otherwise the charset of the header counts. */
export const decodeDocument = (bytes: Uint8Array, contentType: string | undefined): string =>
  decodeRanges(bytes, [[0, bytes.length]], detectEncoding(bytes, contentType)).texts.join("").replace(/^\ufeff/, "")
