import { decodeAs, detectEncoding } from "./DetectEncoding.ts"

/** The text of a document of any kind, without its byte order mark. Not cleaned, see `cleanText`. */
export const decodeDocument = (bytes: Uint8Array, contentType: string | undefined): string => {
  const { decoded, name } = detectEncoding(bytes, contentType)
  return (decoded?.texts.join("") ?? decodeAs(bytes, name)).replace(/^\ufeff/, "")
}
