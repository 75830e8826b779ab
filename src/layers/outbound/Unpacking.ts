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
 * Decompresses in the thread pool, piece by piece. The reservation has grown by a piece before the piece is unpacked.
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
    let reserved = 0
    /** Reserves the next piece, now or in turn, and goes on. */
    const reserveNext = (goOn: () => void) => {
      const missing = length + options.chunkSize - reserved
      reserved += missing
      if (reservation.tryGrow(missing)) return goOn()
      stream.pause()
      reservation.grow(missing, goOn)
    }
    const fail = (error: unknown) => {
      stream.destroy()
      for (const piece of pieces) freeBytes(piece)
      reservation.shrink(reserved)
      reject(error)
    }
    stream.on("data", (piece: Buffer) => {
      if (length + piece.length > options.maxOutputLength) return fail(overflow())
      pieces.push(piece)
      length += piece.length
      reserveNext(() => stream.resume())
    })
    stream.on("error", fail)
    stream.on("end", () => {
      reservation.shrink(reserved - length)
      const [first] = pieces
      resolve(first !== undefined && pieces.length === 1 ? first : concatAndFree(pieces, length))
    })
    reserveNext(() => stream.resume().end(bytes))
  })

/**
 * Concatenates pieces, and frees the buffer of each piece before the next one is copied. Several successive pieces share a buffer.
 *
 * The system gives memory to the result page by page as it is written. So both together never take much more than the result.
 */
const concatAndFree = (pieces: ReadonlyArray<Buffer>, length: number): Buffer => {
  const result = Buffer.allocUnsafeSlow(length)
  let end = 0
  pieces.forEach((piece, n) => {
    result.set(piece, end)
    end += piece.length
    if (pieces[n + 1]?.buffer !== piece.buffer) freeBytes(piece)
  })
  return result
}

const overflow = (): RangeError => Object.assign(new RangeError("too large"), { code: "ERR_BUFFER_TOO_LARGE" })

const streams = {
  gzip: zlib.createGunzip,
  br: zlib.createBrotliDecompress,
  zstd: zlib.createZstdDecompress,
  inflate: zlib.createInflate,
  inflateRaw: zlib.createInflateRaw
}
