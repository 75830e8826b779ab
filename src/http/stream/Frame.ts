/** Bytes that a stream writes together. Clients share them, whatever framing their connection has. */
export interface Frame {
  readonly body: Uint8Array
  /** The same bytes as one chunk of `Transfer-Encoding: chunked`. */
  readonly chunk: Uint8Array
}

/** Frames are built once for all clients, so that each client costs one write of shared bytes. */
export const makeFrame = (bytes: Uint8Array | string): Frame => {
  const length = typeof bytes === "string" ? Buffer.byteLength(bytes) : bytes.byteLength
  const head = `${length.toString(16)}\r\n`
  const chunk = Buffer.allocUnsafe(head.length + length + lineEnd.length)
  chunk.write(head, "latin1")
  if (typeof bytes === "string") chunk.write(bytes, head.length)
  else chunk.set(bytes, head.length)
  chunk.write(lineEnd, head.length + length, "latin1")
  return { body: chunk.subarray(head.length, head.length + length), chunk }
}

const lineEnd = "\r\n"

/** The end of a chunked body. */
export const lastChunk: Uint8Array = Buffer.from("0\r\n\r\n")
