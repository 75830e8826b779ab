import { promisify } from "node:util"
import zlib from "node:zlib"

/** A body that is not what its Content-Encoding says, or grows beyond the cap. */
export class DecompressionError extends Error {
  readonly kind: "Encoding" | "TooLarge"
  constructor(kind: "Encoding" | "TooLarge", message: string, options?: ErrorOptions) {
    super(message, options)
    this.kind = kind
  }
}

export interface Packed {
  readonly bytes: Uint8Array
  /** The Content-Encoding field, as received. */
  readonly encoding: string | undefined
  readonly contentType: string | undefined
  /** The transfer's end was marked (Content-Length, chunks): a stream without its own end was sent so, not cut on the way. */
  readonly whole: boolean
  /** Bytes of the result, at most. */
  readonly maxBytes: number
}

/** Layers of compression that are taken off, at most. */
const maxLayers = 3

/** Input beyond which the thread pool works: below, the way there and back costs more than the work. */
const syncInput = 100_000

/** Output beyond which it does, too: a hundred kB may unfold to 32 MiB, a tenth of a second of everybody's time. */
const syncOutput = 1_048_576

/**
 * Takes the compression off a body, forgiving what servers do: a header without compression, compression without a header or twice,
 * `deflate` without its zlib frame.
 *
 * Answers at once where it can. Throws or rejects with a `DecompressionError`.
 */
export const decompress = (packed: Packed): Uint8Array | Promise<Uint8Array> => {
  const { bytes, encoding } = packed
  if (bytes.length === 0) return bytes
  if (encoding === undefined) return isHiddenGzip(bytes, packed) ? unpack(bytes, ["gzip"], packed) : bytes
  const codings = codingsOf(encoding)
  if (codings.length > maxLayers) {
    throw new DecompressionError("Encoding", `compressed ${codings.length} times; at most ${maxLayers} are taken off`)
  }
  return unpack(bytes, codings, packed)
}

/** The codings to take off, outermost (last applied) first. */
export const codingsOf = (encoding: string): ReadonlyArray<string> =>
  encoding.split(",").map((coding) => coding.trim().toLowerCase()).filter((coding) =>
    coding !== "" && coding !== "identity"
  ).toReversed()

const unpack = (
  bytes: Uint8Array,
  codings: ReadonlyArray<string>,
  packed: Packed,
  layers = 0
): Uint8Array | Promise<Uint8Array> => {
  const [coding, ...inner] = codings
  if (coding === undefined) {
    return layers < maxLayers && isHiddenGzip(bytes, packed) ? unpack(bytes, ["gzip"], packed, layers) : bytes
  }
  const further = (unpacked: Uint8Array) => unpack(unpacked, inner, packed, layers + 1)
  const format = formatOf(coding, bytes)
  if (format === undefined) {
    if (looksPlain(bytes) || isGzip(bytes)) return further(bytes)
    throw new DecompressionError("Encoding", `the Content-Encoding ${JSON.stringify(coding.slice(0, 40))} is not known`)
  }
  const unpacked = format === "plain" ? bytes : decode(format, bytes, coding, packed)
  return unpacked instanceof Promise ? unpacked.then(further) : further(unpacked)
}

type Format = "gzip" | "br" | "zstd" | "inflate" | "inflateRaw"

/** What the bytes are, whatever the header calls them: gzip, zlib and zstd can be told by their first bytes. */
const formatOf = (coding: string, bytes: Uint8Array): Format | "plain" | undefined => {
  switch (coding) {
    case "gzip":
    case "x-gzip":
      return isGzip(bytes) ? "gzip" : "plain"
    case "deflate":
      return isGzip(bytes) ? "gzip" : isZlib(bytes) ? "inflate" : "inflateRaw"
    case "br":
      return "br"
    case "zstd":
      return isZstd(bytes) ? "zstd" : "plain"
    default:
      return undefined
  }
}

const isGzip = (bytes: Uint8Array): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b && bytes[2] === 8

const isZlib = (bytes: Uint8Array): boolean => {
  const [method = 0, flags = 0] = bytes
  return (method & 0x0f) === 8 && (method * 256 + flags) % 31 === 0
}

const isZstd = (bytes: Uint8Array): boolean =>
  bytes[0] === 0x28 && bytes[1] === 0xb5 && bytes[2] === 0x2f && bytes[3] === 0xfd

/** Text that the server compressed without saying so. An archive is left alone: there the compression is the document. */
const isHiddenGzip = (bytes: Uint8Array, { contentType }: Packed): boolean =>
  isGzip(bytes) && contentType !== undefined && /^\s*text\/|[/+](?:xml|json)\b/i.test(contentType)

/** Begins like XML, HTML or JSON, perhaps after a byte order mark and white space. */
const looksPlain = (bytes: Uint8Array): boolean =>
  /^(?:\xef\xbb\xbf)?\s*[<{[]/.test(
    Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 64)).toString("latin1")
  )

const decode = (
  format: Format,
  bytes: Uint8Array,
  coding: string,
  { maxBytes, whole }: Packed
): Uint8Array | Promise<Uint8Array> => {
  const forgive = (error: unknown) => {
    if (isOverflow(error)) {
      throw new DecompressionError("TooLarge", `larger than ${maxBytes} bytes after decompression`, { cause: error })
    }
    if (looksPlain(bytes)) return bytes
    throw new DecompressionError("Encoding", `the body is not valid ${coding}`, { cause: error })
  }
  const orMember = (error: unknown) =>
    format === "gzip" && isWrongData(error)
      ? firstMember(bytes, maxBytes).then((member) => member ?? forgive(error), forgive)
      : forgive(error)
  const later = () => async[format](bytes, optionsOf(format, whole, maxBytes)).catch(orMember)
  if (bytes.length > syncInput) return later()
  try {
    return sync[format](bytes, optionsOf(format, whole, Math.min(maxBytes, syncOutput)))
  } catch (error) {
    return isOverflow(error) && maxBytes > syncOutput ? later() : orMember(error)
  }
}

/**
 * What is packed in gzip with bytes behind its end that are none, as when a script prints after it was compressed. Curl and browsers read it.
 *
 * Undefined when it is not whole: the checksum and the length (RFC 1952, 2.3.1) that belong to the result have to be there.
 */
const firstMember = async (bytes: Uint8Array, maxBytes: number): Promise<Uint8Array | undefined> => {
  const start = endOfHeader(bytes)
  const unpacked = await async.inflateRaw(bytes.subarray(start), optionsOf("inflateRaw", false, maxBytes))
  const trailer = Buffer.alloc(8)
  trailer.writeUInt32LE(zlib.crc32(unpacked))
  trailer.writeUInt32LE(unpacked.length, 4)
  const at = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).indexOf(trailer, start)
  return at < 0 || isGzip(bytes.subarray(at + trailer.length)) ? undefined : unpacked
}

/** Where the header of gzip ends (RFC 1952, 2.3): after ten bytes, extra fields, a name, a comment and a checksum, each if its flag is set. */
const endOfHeader = (bytes: Uint8Array): number => {
  const flags = bytes[3] ?? 0
  let at = 10
  if ((flags & 4) !== 0) at += 2 + (bytes[at] ?? 0) + 256 * (bytes[at + 1] ?? 0)
  for (const flag of [8, 16]) {
    if ((flags & flag) !== 0) at = bytes.indexOf(0, at) + 1
  }
  return (flags & 2) === 0 ? at : at + 2
}

/** Other than that of a stream that was cut off. */
const isWrongData = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "Z_DATA_ERROR"

const isOverflow = (error: unknown): boolean =>
  error instanceof RangeError && "code" in error && error.code === "ERR_BUFFER_TOO_LARGE"

/** gzip and deflate without their end are taken as far as they go, as browsers do. */
const optionsOf = (format: Format, whole: boolean, maxOutputLength: number) => ({
  maxOutputLength,
  chunkSize: 64 * 1024,
  ...(whole && format !== "br" && format !== "zstd" ? { finishFlush: zlib.constants.Z_SYNC_FLUSH } : {})
})

const sync = {
  gzip: zlib.gunzipSync,
  br: zlib.brotliDecompressSync,
  zstd: zlib.zstdDecompressSync,
  inflate: zlib.inflateSync,
  inflateRaw: zlib.inflateRawSync
}

const async = {
  gzip: promisify<Uint8Array, zlib.ZlibOptions, Buffer>(zlib.gunzip),
  br: promisify<Uint8Array, zlib.BrotliOptions, Buffer>(zlib.brotliDecompress),
  zstd: promisify<Uint8Array, zlib.ZstdOptions, Buffer>(zlib.zstdDecompress),
  inflate: promisify<Uint8Array, zlib.ZlibOptions, Buffer>(zlib.inflate),
  inflateRaw: promisify<Uint8Array, zlib.ZlibOptions, Buffer>(zlib.inflateRaw)
}
