import { detectEncoding } from "#domain/normalize/bytes/DetectEncoding.ts"
import { decodeRanges } from "#domain/normalize/bytes/DecodeRanges.ts"

/** The text of a document: valid UTF-8 is UTF-8, else what the header declares counts. */
export const textOf = (bytes: Uint8Array, contentType: string | undefined): string =>
  decodeRanges(bytes, [[0, bytes.length]], detectEncoding(bytes, contentType)).texts.join("").replace(/^\ufeff/, "")
