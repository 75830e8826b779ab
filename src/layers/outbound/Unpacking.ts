import zlib from "node:zlib"
import type { MemoryReservation } from "#domain/collections/MemoryBudget.ts"
import type { CompressionFormat } from "./CompressionFormat.ts"
import { freeBytes } from "./FreeMemory.ts"

export interface UnpackingOptions {
  readonly maxOutputLength: number
  readonly chunkSize: number
  readonly finishFlush?: number
}

/**
 * Decompresses in the thread pool, piece by piece. Before a further piece is unpacked, the reservation has grown by the last one.
 *
 * Rejects with zlib's errors, and with a `RangeError` beyond the maximum. Never settles after the release of the reservation.
 */
export const unpack = (
  format: CompressionFormat,
  bytes: Uint8Array,
  options: UnpackingOptions,
  reservation: MemoryReservation
): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const stream = streams[format](options)
    const pieces: Array<Buffer> = []
    let length = 0
    const fail = (error: unknown) => {
      stream.destroy()
      for (const piece of pieces) freeBytes(piece)
      reservation.shrink(length)
      reject(error)
    }
    stream.on("data", (piece: Buffer) => {
      if (length + piece.length > options.maxOutputLength) return fail(overflow())
      pieces.push(piece)
      length += piece.length
      if (reservation.tryGrow(piece.length)) return
      stream.pause()
      reservation.grow(piece.length, () => stream.resume())
    })
    stream.on("error", fail)
    stream.on("end", () => {
      const [first] = pieces
      if (first !== undefined && pieces.length === 1) return resolve(first)
      resolve(Buffer.concat(pieces, length))
      for (const piece of pieces) freeBytes(piece)
    })
    stream.end(bytes)
  })

const overflow = (): RangeError => Object.assign(new RangeError("too large"), { code: "ERR_BUFFER_TOO_LARGE" })

const streams = {
  gzip: zlib.createGunzip,
  br: zlib.createBrotliDecompress,
  zstd: zlib.createZstdDecompress,
  inflate: zlib.createInflate,
  inflateRaw: zlib.createInflateRaw
}
