/** A part of a client's byte stream that the server can act on. */
export type Frame =
  | { readonly _tag: "Startup"; readonly bytes: Uint8Array; readonly parameters: ReadonlyMap<string, string> }
  | { readonly _tag: "EncryptionRequest" }
  | { readonly _tag: "CancelRequest" }
  | { readonly _tag: "Terminate" }
  /**
   * Messages up to and including a Sync or a simple Query, which makes the server answer.
   * `parsed` and `closed` name the prepared statements that the cycle creates and removes.
   */
  | {
    readonly _tag: "Cycle"
    readonly bytes: Uint8Array
    readonly parsed: ReadonlyArray<string>
    readonly closed: ReadonlyArray<string>
  }

const cancelRequest = 80877102
const encryptionRequests = new Set([80877103, 80877104]) // TLS, GSS

/** First bytes of messages. */
const parseByte = 0x50 // P
const closeByte = 0x43 // C
const syncByte = 0x53 // S
const queryByte = 0x51 // Q
const terminateByte = 0x58 // X
/** Second field of a Close: a statement rather than a portal. */
const statementByte = 0x53

/** Splits the byte stream of one connection into frames, independent of the chunks. */
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

  /** Adds the frame that starts at `from` and returns its end. Returns `from` while the frame is incomplete. */
  #next(bytes: Buffer, from: number, frames: Array<Frame>): number {
    if (this.#started) return readCycle(bytes, from, frames)
    if (bytes.length - from < 8 || bytes.length - from < bytes.readInt32BE(from)) return from
    const end = from + bytes.readInt32BE(from)
    const code = bytes.readInt32BE(from + 4)
    if (encryptionRequests.has(code)) frames.push({ _tag: "EncryptionRequest" })
    else if (code === cancelRequest) frames.push({ _tag: "CancelRequest" })
    else {
      this.#started = true
      const packet = bytes.subarray(from, end)
      frames.push({ _tag: "Startup", bytes: packet, parameters: readParameters(packet) })
    }
    return end
  }
}

/** Names and values behind length and version, each with a zero byte at the end. */
const readParameters = (packet: Buffer): ReadonlyMap<string, string> => {
  const texts = packet.toString("utf8", 8).split("\0")
  const parameters = new Map<string, string>()
  for (let i = 0; i + 1 < texts.length && texts[i] !== ""; i += 2) parameters.set(texts[i] ?? "", texts[i + 1] ?? "")
  return parameters
}

const readCycle = (bytes: Buffer, from: number, frames: Array<Frame>): number => {
  const parsed: Array<string> = []
  const closed: Array<string> = []
  for (let at = from; bytes.length - at >= 5;) {
    const end = at + 1 + bytes.readInt32BE(at + 1)
    if (bytes.length < end) return from
    const type = bytes[at]
    if (type === parseByte) parsed.push(readText(bytes, at + 5))
    if (type === closeByte && bytes[at + 5] === statementByte) closed.push(readText(bytes, at + 6))
    if (type === terminateByte) {
      frames.push({ _tag: "Terminate" })
      return end
    }
    if (type === syncByte || type === queryByte) {
      frames.push({ _tag: "Cycle", bytes: bytes.subarray(from, end), parsed, closed })
      return end
    }
    at = end
  }
  return from
}

const readText = (bytes: Buffer, from: number) => bytes.toString("latin1", from, bytes.indexOf(0, from))

const asBuffer = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** A cycle that removes prepared statements. */
export const closeStatements = (names: Iterable<string>): Uint8Array => {
  const messages: Array<Buffer> = []
  for (const name of names) messages.push(makeMessage(closeByte, Buffer.from(`S${name}\0`, "latin1")))
  messages.push(makeMessage(syncByte, Buffer.alloc(0)))
  return Buffer.concat(messages)
}

/** A cycle that rolls back the open transaction, if any. */
export const rollback = (): Uint8Array => makeQuery("ROLLBACK")

/** A cycle that runs a checkpoint. */
export const checkpoint = (): Uint8Array => makeQuery("CHECKPOINT")

/** A cycle that sets parameters of the session. */
export const setParameters = (parameters: ReadonlyArray<readonly [name: string, value: string]>): Uint8Array =>
  makeQuery(parameters.map(([name, value]) => `SET ${name} TO '${value.replaceAll("'", "''")}'`).join("; "))

const makeQuery = (text: string): Uint8Array => makeMessage(queryByte, Buffer.from(`${text}\0`, "utf8"))

const makeMessage = (type: number, body: Buffer): Buffer => {
  const head = Buffer.alloc(5)
  head[0] = type
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}
