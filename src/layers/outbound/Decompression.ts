import zlib from "node:zlib"
import type { MemoryReservation } from "#domain/collections/MemoryBudget.ts"
import {
  archiveFormat,
  codingsOf,
  type CompressionFormat,
  formatOf,
  isGzip,
  isShortText,
  isText,
  markedFormat
} from "./CompressionFormat.ts"
import { unpack } from "./Unpacking.ts"

/** A body that contradicts its Content-Encoding, or exceeds the maximum size after decompression. */
export class DecompressionError extends Error {
  readonly _tag = "DecompressionError"
  readonly reason: { readonly _tag: "Encoding" | "TooLarge" }
  constructor(tag: "Encoding" | "TooLarge", message: string, options?: ErrorOptions) {
    super(message, options)
    this.reason = { _tag: tag }
  }
}

export interface CompressedBody {
  readonly bytes: Uint8Array
  /** The Content-Encoding field, as received. */
  readonly encoding: string | undefined
  readonly contentType: string | undefined
  /** The response marked its end (Content-Length, chunks). The server itself then sent a truncated stream; the network lost no byte. */
  readonly isComplete: boolean
  /** Bytes of the result. */
  readonly maxBytes: number
  /** Grows by all decompressed bytes. Without room, the next piece waits. */
  readonly reservation: MemoryReservation
}

/** Layers of compression that are removed. */
const maxLayers = 3

/** Larger inputs go to the thread pool. For smaller inputs, the way to the pool and back costs more than the work. */
const maxSyncInput = 100_000

/** Larger outputs go to the thread pool, too: 100 kB may unfold to 32 MiB, which blocks the event loop for a tenth of a second. */
const maxSyncOutput = 1_048_576

/** Bytes of a piece of a large output. The C library returns buffers of this size to the system as soon as they are freed. */
const poolChunkBytes = 1_048_576

/**
 * Decompresses a body, and tolerates common mistakes of servers: a header without compression, compression without a header, compression
 * applied twice, `deflate` without its zlib frame, a Content-Encoding that names no compression.
 *
 * Returns small results synchronously. Throws or rejects with a `DecompressionError`.
 */
export const decompress = (body: CompressedBody): Uint8Array | Promise<Uint8Array> => {
  const { bytes, encoding } = body
  if (bytes.length === 0) return bytes
  const codings = encoding === undefined ? [] : codingsOf(encoding)
  if (codings.length > maxLayers) {
    throw new DecompressionError(
      "Encoding",
      `compressed ${codings.length} times; at most ${maxLayers} layers are removed`
    )
  }
  return removeLayers(bytes, codings, body)
}

const removeLayers = (
  bytes: Uint8Array,
  codings: ReadonlyArray<string>,
  body: CompressedBody,
  removed = 0
): Uint8Array | Promise<Uint8Array> => {
  const [coding, ...inner] = codings
  if (coding === undefined) return removeHiddenLayer(bytes, body, removed)
  const removeInner = (decompressed: Uint8Array) => removeLayers(decompressed, inner, body, removed + 1)
  const format = formatOf(coding, bytes)
  if (format === undefined) {
    if (isText(bytes)) return removeInner(bytes)
    throw new DecompressionError("Encoding", `the Content-Encoding ${JSON.stringify(coding)} is not supported`)
  }
  const decompressed = format === "plain" ? bytes : removeLayer(format, bytes, coding, body)
  return decompressed instanceof Promise ? decompressed.then(removeInner) : removeInner(decompressed)
}

/** Decompresses text that the server compressed without saying so. An archive stays as it is, because its compression is the document. */
const removeHiddenLayer = (
  bytes: Uint8Array,
  body: CompressedBody,
  removed: number
): Uint8Array | Promise<Uint8Array> => {
  if (!isNamedText(body)) return bytes
  const format = markedFormat(bytes)
  if (format !== undefined && removed < maxLayers) return removeLayers(bytes, [format], body, removed)
  const archive = body.encoding === undefined ? undefined : archiveFormat(bytes)
  if (archive === undefined) return bytes
  const named = JSON.stringify(body.encoding?.slice(0, 40))
  throw new DecompressionError(
    "Encoding",
    `the body looks compressed with ${archive}; its Content-Encoding is ${named}`
  )
}

const isNamedText = ({ contentType }: CompressedBody): boolean =>
  contentType !== undefined && /^\s*text\/|[/+](?:xml|json)\b/i.test(contentType)

const removeLayer = (
  format: CompressionFormat,
  bytes: Uint8Array,
  coding: string,
  { isComplete, maxBytes, reservation }: CompressedBody
): Uint8Array | Promise<Uint8Array> => {
  const plainOrThrow = (error: unknown) => {
    if (isOverflow(error)) {
      throw new DecompressionError("TooLarge", `larger than ${maxBytes} bytes after decompression`, { cause: error })
    }
    if (isText(bytes)) return bytes
    throw new DecompressionError("Encoding", `the body is not valid ${coding}`, { cause: error })
  }
  const recover = (error: unknown) =>
    format === "gzip" && isWrongData(error)
      ? gunzipFirstMember(bytes, maxBytes, reservation).then((member) => member ?? plainOrThrow(error), plainOrThrow)
      : plainOrThrow(error)
  const mayBeTruncated = isComplete && !isShortText(bytes)
  const inThreadPool = (): Promise<Uint8Array> =>
    unpack(format, bytes, { ...optionsOf(format, mayBeTruncated, maxBytes), chunkSize: poolChunkBytes }, reservation)
      .catch(recover)
  if (bytes.length > maxSyncInput) return inThreadPool()
  try {
    const result = syncDecompressors[format](
      bytes,
      optionsOf(format, mayBeTruncated, Math.min(maxBytes, maxSyncOutput))
    )
    return reservation.tryGrow(result.length) ? result : inThreadPool()
  } catch (error) {
    return isOverflow(error) && maxBytes > maxSyncOutput ? inThreadPool() : recover(error)
  }
}

/**
 * Decompresses a gzip member before trailing garbage, for instance the output of a script that prints after it compressed its page. Curl and
 * browsers accept such bodies.
 *
 * Undefined if the member is incomplete: its checksum and its length (RFC 1952, 2.3.1) must follow.
 */
const gunzipFirstMember = async (
  bytes: Uint8Array,
  maxBytes: number,
  reservation: MemoryReservation
): Promise<Uint8Array | undefined> => {
  const start = gzipHeaderEnd(bytes)
  const options = { ...optionsOf("inflateRaw", false, maxBytes), chunkSize: poolChunkBytes }
  const member = await unpack("inflateRaw", bytes.subarray(start), options, reservation)
  const trailer = Buffer.alloc(8)
  trailer.writeUInt32LE(zlib.crc32(member))
  trailer.writeUInt32LE(member.length, 4)
  const trailerStart = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).indexOf(trailer, start)
  return trailerStart < 0 || isGzip(bytes.subarray(trailerStart + trailer.length)) ? undefined : member
}

/** A gzip header has ten bytes, then extra fields, a name, a comment and a checksum, each if its flag is set (RFC 1952, 2.3). */
const gzipHeaderEnd = (bytes: Uint8Array): number => {
  const flags = bytes[3] ?? 0
  let end = 10
  if ((flags & 4) !== 0) end += 2 + (bytes[end] ?? 0) + 256 * (bytes[end + 1] ?? 0)
  for (const flag of [8, 16]) {
    if ((flags & flag) !== 0) end = bytes.indexOf(0, end) + 1
  }
  return (flags & 2) === 0 ? end : end + 2
}

/** Invalid data; a truncated stream has another code. */
const isWrongData = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "Z_DATA_ERROR"

const isOverflow = (error: unknown): boolean =>
  error instanceof RangeError && "code" in error && error.code === "ERR_BUFFER_TOO_LARGE"

/** Truncated gzip and deflate streams are decompressed up to the truncation, as in browsers. Short texts are no such streams. */
const optionsOf = (format: CompressionFormat, mayBeTruncated: boolean, maxOutputLength: number) => ({
  maxOutputLength,
  chunkSize: 64 * 1024,
  ...(mayBeTruncated && format !== "br" && format !== "zstd" ? { finishFlush: zlib.constants.Z_SYNC_FLUSH } : {})
})

const syncDecompressors = {
  gzip: zlib.gunzipSync,
  br: zlib.brotliDecompressSync,
  zstd: zlib.zstdDecompressSync,
  inflate: zlib.inflateSync,
  inflateRaw: zlib.inflateRawSync
}
