/** A compression that Node removes. */
export type CompressionFormat = "gzip" | "br" | "zstd" | "inflate" | "inflateRaw"

type Coding = "gzip" | "deflate" | "br" | "zstd" | "unsupported"

/**
 * Registered content codings by name, with the misspellings that servers send. `identity` is no compression.
 *
 * @see https://www.iana.org/assignments/http-parameters/http-parameters.xhtml#content-coding
 */
const codings: ReadonlyMap<string, Coding> = new Map([
  ["gzip", "gzip"],
  ["x-gzip", "gzip"],
  ["gz", "gzip"],
  ["deflate", "deflate"],
  ["x-deflate", "deflate"],
  ["zlib", "deflate"],
  ["br", "br"],
  ["brotli", "br"],
  ["zstd", "zstd"],
  ["x-zstd", "zstd"],
  ["compress", "unsupported"],
  ["x-compress", "unsupported"],
  ["aes128gcm", "unsupported"],
  ["dcb", "unsupported"],
  ["dcz", "unsupported"],
  ["exi", "unsupported"],
  ["pack200-gzip", "unsupported"]
])

/**
 * The compressions in a Content-Encoding field, the outermost (last applied) first.
 *
 * Other names are skipped, because servers put charsets (`utf-8`), framings (`aws-chunked`) and words (`none`, `binary`) there.
 */
export const codingsOf = (encoding: string): ReadonlyArray<string> =>
  encoding.toLowerCase().split(",").map((coding) => coding.replace(/;.*/s, "").replaceAll("\"", "").trim())
    .filter((coding) => codings.has(coding)).toReversed()

/**
 * The actual format of the bytes, because servers name compressions that they did not apply. The first bytes count more than the name.
 *
 * Undefined for a coding that is not supported.
 */
export const formatOf = (coding: string, bytes: Uint8Array): CompressionFormat | "plain" | undefined => {
  const hidden = markedFormat(bytes)
  if (hidden !== undefined) return hidden
  if (isLongText(bytes)) return "plain"
  switch (codings.get(coding)) {
    case "gzip":
      return isZlib(bytes) ? "inflate" : "plain"
    case "deflate":
      return isZlib(bytes) ? "inflate" : "inflateRaw"
    case "br":
      return "br"
    case "zstd":
      return "plain"
    default:
      return undefined
  }
}

/** The format that the first bytes prove. Brotli and raw deflate have no such mark, and the mark of zlib is too short. */
export const markedFormat = (bytes: Uint8Array): "gzip" | "zstd" | undefined =>
  isGzip(bytes) ? "gzip" : startsWith(bytes, [0x28, 0xb5, 0x2f, 0xfd]) ? "zstd" : undefined

export const isGzip = (bytes: Uint8Array): boolean => startsWith(bytes, [0x1f, 0x8b, 8])

const isZlib = (bytes: Uint8Array): boolean => {
  const [method = 0, flags = 0] = bytes
  return (method & 0x0f) === 8 && (method * 256 + flags) % 31 === 0
}

/** Formats of archives that no Content-Encoding names. */
const archiveMarks = [
  { mark: [0x1f, 0x9d], name: "compress" },
  { mark: [0x42, 0x5a, 0x68], name: "bzip2" },
  { mark: [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0], name: "xz" },
  { mark: [4, 0x22, 0x4d, 0x18], name: "lz4" }
]

/** The archive format of the bytes; undefined for text and for any other format. */
export const archiveFormat = (bytes: Uint8Array): string | undefined =>
  archiveMarks.find(({ mark }) => startsWith(bytes, mark))?.name

const startsWith = (bytes: Uint8Array, mark: ReadonlyArray<number>): boolean =>
  mark.every((byte, index) => bytes[index] === byte)

const maxInspectedBytes = 512

/** Shorter texts may be compressed by chance: an empty document is one byte of brotli, a semicolon. */
const minProvenText = 16

/** Markup does not count by its first byte here: a brotli stream of 64 kB and more begins with a bracket. */
const isLongText = (bytes: Uint8Array): boolean => bytes.length >= minProvenText && isUtf8Text(bytes)

/** A text that may be a compressed stream by chance. As a stream, it lacks its end. */
export const isShortText = (bytes: Uint8Array): boolean => bytes.length < minProvenText && isUtf8Text(bytes)

/** The bytes begin like text: UTF-8 without control characters, or any encoding that begins like XML, HTML or JSON. */
export const isText = (bytes: Uint8Array): boolean => looksLikeMarkup(bytes) || isUtf8Text(bytes)

const isUtf8Text = (bytes: Uint8Array): boolean => {
  const start = bytes.subarray(0, maxInspectedBytes)
  return !start.some(isControl) && isUtf8(start)
}

const isControl = (byte: number): boolean => byte < 0x20 && (byte < 9 || byte > 13) && byte !== 0x1b || byte === 0x7f

/** A character that the end of the inspected bytes cuts is no error. */
const isUtf8 = (bytes: Uint8Array): boolean => {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true })
    return true
  } catch {
    return false
  }
}

/** The bytes begin like XML, HTML or JSON, perhaps after a byte order mark and white space. */
const looksLikeMarkup = (bytes: Uint8Array): boolean =>
  /^(?:\xef\xbb\xbf)?\s*[<{[]/.test(
    Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 64)).toString("latin1")
  )
