/** What a client of the wire protocol sent, cut where the server may act on it. */
export type Frame =
  | { readonly _tag: "Startup"; readonly bytes: Uint8Array }
  | { readonly _tag: "EncryptionRequest" }
  | { readonly _tag: "CancelRequest" }
  | { readonly _tag: "Terminate" }
  /**
   * Messages up to and with the one that makes the server answer: a Sync or a simple Query.
   * `parsed` and `closed` name the prepared statements that it makes and removes.
   */
  | {
    readonly _tag: "Cycle"
    readonly bytes: Uint8Array
    readonly parsed: ReadonlyArray<string>
    readonly closed: ReadonlyArray<string>
  }

const cancelRequest = 80877102
const encryptionRequests = new Set([80877103, 80877104]) // TLS, GSS

/** First bytes of the messages that matter here. */
const parse = 0x50 // P
const close = 0x43 // C
const sync = 0x53 // S
const query = 0x51 // Q
const terminate = 0x58 // X
/** In a Close: a statement, not a portal. */
const statement = 0x53

/** Cuts the byte stream of one connection into frames, however it was chunked. */
export class Frames {
  #rest: Buffer = Buffer.alloc(0)
  #started = false

  push(chunk: Uint8Array): ReadonlyArray<Frame> {
    const bytes = this.#rest.length === 0 ? asBuffer(chunk) : Buffer.concat([this.#rest, chunk])
    const frames: Array<Frame> = []
    let done = 0
    for (let end = this.#next(bytes, done, frames); end > done; end = this.#next(bytes, done, frames)) done = end
    this.#rest = Buffer.from(bytes.subarray(done))
    return frames
  }

  /** Adds the frame that starts at `from` and returns where it ends; `from` when it is not complete. */
  #next(bytes: Buffer, from: number, frames: Array<Frame>): number {
    if (this.#started) return cycle(bytes, from, frames)
    if (bytes.length - from < 8 || bytes.length - from < bytes.readInt32BE(from)) return from
    const end = from + bytes.readInt32BE(from)
    const code = bytes.readInt32BE(from + 4)
    if (encryptionRequests.has(code)) frames.push({ _tag: "EncryptionRequest" })
    else if (code === cancelRequest) frames.push({ _tag: "CancelRequest" })
    else {
      this.#started = true
      frames.push({ _tag: "Startup", bytes: bytes.subarray(from, end) })
    }
    return end
  }
}

const cycle = (bytes: Buffer, from: number, frames: Array<Frame>): number => {
  const parsed: Array<string> = []
  const closed: Array<string> = []
  for (let at = from; bytes.length - at >= 5;) {
    const end = at + 1 + bytes.readInt32BE(at + 1)
    if (bytes.length < end) return from
    const type = bytes[at]
    if (type === parse) parsed.push(text(bytes, at + 5))
    if (type === close && bytes[at + 5] === statement) closed.push(text(bytes, at + 6))
    if (type === terminate) {
      frames.push({ _tag: "Terminate" })
      return end
    }
    if (type === sync || type === query) {
      frames.push({ _tag: "Cycle", bytes: bytes.subarray(from, end), parsed, closed })
      return end
    }
    at = end
  }
  return from
}

const text = (bytes: Buffer, from: number) => bytes.toString("latin1", from, bytes.indexOf(0, from))

const asBuffer = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** A cycle that removes prepared statements. */
export const closeStatements = (names: Iterable<string>): Uint8Array => {
  const messages: Array<Buffer> = []
  for (const name of names) messages.push(message(close, Buffer.from(`S${name}\0`, "latin1")))
  messages.push(message(sync, Buffer.alloc(0)))
  return Buffer.concat(messages)
}

/** A cycle that ends whatever transaction is open. */
export const rollback = (): Uint8Array => message(query, Buffer.from("ROLLBACK\0", "latin1"))

const message = (type: number, body: Buffer): Buffer => {
  const head = Buffer.alloc(5)
  head[0] = type
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}
