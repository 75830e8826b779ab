import { Schema } from "effect"
import { createHash } from "node:crypto"
import { promisify } from "node:util"
import * as zlib from "node:zlib"
import { backupError } from "./BackupError.ts"

/**
 * The format of a backup: a line with the name and version of the format, then frames.
 *
 * A frame has 41 bytes before its payload: kind (1 byte), length of the content, length of the payload (4 bytes each, big-endian) and SHA-256.
 * The payload is the content as one zstd frame. The checksum covers the position of the frame, so that no frame can be missing or moved.
 * The first frame is the header, the last one the end; all others are pages of rows.
 */
const formatName = "windhover-backup"
const formatVersion = 1

export const firstLine = Buffer.from(`${formatName} ${formatVersion}\n`)

export const frameHeadBytes = 41

/** Bytes at which a page ends. A single row can be larger. */
export const pageBytes = 4 * 1024 * 1024

/** Maximum bytes of a frame's content: the largest stored document in hexadecimal, and its other columns. */
export const maxContentBytes = 96 * 1024 * 1024

/** Maximum bytes of the header's content. */
const maxHeaderBytes = 1024 * 1024

/** Largest window of the decompressor, as a power of two: pages are compressed with less. */
const maxWindowLog = 23

export const frameKinds = { header: 1, page: 2, end: 3 } as const

export type FrameKind = keyof typeof frameKinds

const kindNames = new Map<number, FrameKind>([[1, "header"], [2, "page"], [3, "end"]])

/** A count of rows. */
const Count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }))

const Name = Schema.String.check(Schema.isBetweenLength(1, 63))

/** What a backup holds. */
export const Header = Schema.Struct({
  /** Number of the last migration. */
  schema: Count,
  /** Version of the Windhover that wrote the backup. */
  windhover: Schema.String.check(Schema.isMaxLength(100)),
  /** Major version of the PostgreSQL that the rows come from. */
  postgres: Count,
  /** ISO 8601. */
  createdAt: Schema.String.check(Schema.isMaxLength(40)),
  /** Ids of the encryption keys of its secrets, in hexadecimal. */
  keys: Schema.Array(Schema.String.check(Schema.isMaxLength(128))).check(Schema.isMaxLength(1_000)),
  tables: Schema.Array(Schema.Struct({
    name: Name,
    columns: Schema.Array(Name).check(Schema.isMaxLength(1_600)),
    rows: Count
  })).check(Schema.isMaxLength(200)),
  sequences: Schema.Array(Schema.Struct({
    name: Name,
    /** A 64-bit number in decimals. */
    value: Schema.String.check(Schema.isPattern(/^-?\d{1,19}$/)),
    called: Schema.Boolean
  })).check(Schema.isMaxLength(200))
})
export type Header = typeof Header.Type

/** The last frame: its counts and checksum prove that the file is whole. */
export const End = Schema.Struct({
  pages: Count,
  rows: Count,
  /** SHA-256 of all bytes before this frame, in hexadecimal. */
  sha256: Schema.String
})
export type End = typeof End.Type

/** Rows of one table, each as the text of a PostgreSQL record. */
export interface Page {
  readonly table: string
  readonly rows: ReadonlyArray<string>
}

export interface FrameHead {
  readonly kind: FrameKind
  readonly contentBytes: number
  readonly payloadBytes: number
  readonly checksum: Buffer
}

const checksumOf = (position: number, start: Uint8Array, payload: Uint8Array): Buffer => {
  const place = Buffer.alloc(8)
  place.writeBigUInt64BE(BigInt(position))
  return createHash("sha256").update(place).update(start).update(payload).digest()
}

const compress = promisify(zlib.zstdCompress)
const decompress = promisify(zlib.zstdDecompress)

/** The bytes of a frame. */
export const encodeFrame = async (kind: FrameKind, position: number, content: Uint8Array): Promise<Buffer> => {
  if (content.length > maxContentBytes) throw new RangeError(`A row has more than ${maxContentBytes} bytes as text.`)
  const payload = await compress(content)
  const head = Buffer.alloc(frameHeadBytes)
  head[0] = frameKinds[kind]
  head.writeUInt32BE(content.length, 1)
  head.writeUInt32BE(payload.length, 5)
  checksumOf(position, head.subarray(0, 9), payload).copy(head, 9)
  return Buffer.concat([head, payload])
}

/** Reads the head of a frame. Undefined when its kind or its lengths are impossible. */
export const decodeHead = (bytes: Buffer): FrameHead | undefined => {
  const kind = kindNames.get(bytes[0] ?? 0)
  const contentBytes = bytes.readUInt32BE(1)
  const payloadBytes = bytes.readUInt32BE(5)
  const maxBytes = kind === "page" ? maxContentBytes : maxHeaderBytes
  // zstd adds a few bytes to content that it cannot compress
  if (kind === undefined || contentBytes > maxBytes || payloadBytes > contentBytes + (contentBytes >> 7) + 1024) {
    return undefined
  }
  return { kind, contentBytes, payloadBytes, checksum: bytes.subarray(9, frameHeadBytes) }
}

/** The content of a frame, decompressed to its declared length at most. Undefined when a checksum or a length does not fit. */
export const decodeContent = async (head: Buffer, position: number, payload: Buffer): Promise<Buffer | undefined> => {
  const decoded = decodeHead(head)
  if (decoded === undefined || !decoded.checksum.equals(checksumOf(position, head.subarray(0, 9), payload))) {
    return undefined
  }
  try {
    const content = await decompress(payload, {
      maxOutputLength: Math.max(1, decoded.contentBytes),
      params: { [zlib.constants.ZSTD_d_windowLogMax]: maxWindowLog }
    })
    return content.length === decoded.contentBytes ? content : undefined
  } catch {
    return undefined // no zstd, a larger content than declared, or a window that no page has
  }
}

/** The content of a page: the table's name after its length, then each row after its length. */
export const encodePage = ({ rows, table }: Page): Buffer => {
  const name = Buffer.from(table)
  let size = 1 + name.length
  const lengths = rows.map((row) => {
    const length = Buffer.byteLength(row)
    size += 4 + length
    return length
  })
  const content = Buffer.allocUnsafe(size)
  content[0] = name.length
  name.copy(content, 1)
  let at = 1 + name.length
  for (const [index, row] of rows.entries()) {
    at = content.writeUInt32BE(lengths[index] ?? 0, at)
    at += content.write(row, at)
  }
  return content
}

/** Undefined when a length leads beyond the content. */
export const decodePage = (content: Buffer): Page | undefined => {
  let at = 1 + (content[0] ?? 0)
  if (at > content.length) return undefined
  const table = content.toString("utf8", 1, at)
  const rows: Array<string> = []
  while (at < content.length) {
    if (at + 4 > content.length) return undefined
    const end = at + 4 + content.readUInt32BE(at)
    if (end > content.length) return undefined
    rows.push(content.toString("utf8", at + 4, end))
    at = end
  }
  return { table, rows }
}

/** Checks the first line of a file. Returns the error for a file of another program or of a newer version. */
export const checkFirstLine = (file: string, start: Buffer) => {
  if (start.equals(firstLine)) return undefined
  const version = /^windhover-backup (\d{1,6})\n?/.exec(start.toString("latin1"))?.[1]
  return version !== undefined && Number(version) > formatVersion
    ? backupError(
      "Newer",
      `${file} is a backup in format ${version}; this Windhover reads format ${formatVersion}. Use a newer version.`
    )
    : backupError("Foreign", `${file} is no backup of Windhover. 'windhover backup FILE' writes one.`)
}
