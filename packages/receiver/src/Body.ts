import { ReceiverError } from "./ReceiverError.ts"

/** Bytes of all bodies that one receiver holds at the same time. */
export interface BodyRoom {
  readonly maxBytes: number
  /** Bytes in use. */
  used: number
}

/**
 * Reads the raw bytes of a body. A body that was parsed and serialized again has another signature.
 *
 * Each read byte takes room until `release` gives the room back.
 */
export const readBody = async (
  request: Pick<Request, "body" | "bodyUsed" | "headers">,
  maxBytes: number,
  room: BodyRoom
): Promise<{ readonly body: Uint8Array<ArrayBuffer>; readonly release: () => void }> => {
  const { headers } = request
  if (request.bodyUsed) {
    throw new ReceiverError(
      "parsed-body",
      "The body was read before the signature was checked. Pass the request on unread."
    )
  }
  if (Number(headers.get("content-length") ?? 0) > maxBytes) throw tooLarge(maxBytes)
  let bytes = 0
  const release = () => {
    room.used -= bytes
    bytes = 0
  }
  const chunks: Array<Uint8Array> = []
  const reader = request.body?.getReader()
  try {
    for await (const chunk of chunksOf(reader)) {
      bytes += chunk.byteLength
      room.used += chunk.byteLength
      if (bytes > maxBytes) throw tooLarge(maxBytes)
      if (room.used > room.maxBytes) {
        throw new ReceiverError("busy", "Too many notifications arrive at once. Try again.")
      }
      chunks.push(chunk)
    }
  } catch (error) {
    release()
    // an adapter keeps the connection for the response
    void reader?.cancel().catch(() => {})
    throw error
  }
  return { body: concatenate(chunks, bytes), release }
}

async function* chunksOf(reader: ReadableStreamDefaultReader<Uint8Array> | undefined): AsyncGenerator<Uint8Array> {
  if (reader === undefined) return
  while (true) {
    const { done, value } = await read(reader)
    if (done) return
    yield value
  }
}

const read = async (reader: ReadableStreamDefaultReader<Uint8Array>) => {
  try {
    return await reader.read()
  } catch {
    throw new ReceiverError("incomplete-body", "The connection was lost before the end of the body.")
  }
}

const tooLarge = (maxBytes: number) => new ReceiverError("too-large", `The body is larger than ${maxBytes} bytes.`)

const concatenate = (chunks: ReadonlyArray<Uint8Array>, length: number): Uint8Array<ArrayBuffer> => {
  const all = new Uint8Array(length)
  let offset = 0
  for (const chunk of chunks) {
    all.set(chunk, offset)
    offset += chunk.byteLength
  }
  return all
}
