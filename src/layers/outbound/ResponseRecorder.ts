import type { Socket } from "node:net"
import type { buildConnector } from "undici"
import { codeOf, isParserCode } from "./NetworkError.ts"

/** The exchange whose response is recorded. */
export interface RecordedExchange {
  /** Bytes of the body that undici has passed on. */
  readonly bodySize: () => number
  /** undici refuses the response. All its bytes follow from the first one, then the further bytes. */
  readonly onRefusal: () => void
  readonly onRawData: (bytes: Buffer) => void
  readonly onRawEnd: () => void
}

/** Bytes that a record may exceed the body by: header fields and the sizes of chunks. */
const maxFramingBytes = 256 * 1024

/** Bytes of framing for each byte of the body: a chunk of one byte has five. */
const maxFramingRatio = 8

/**
 * Records the responses of one connection, and takes over the socket when undici refuses a response.
 *
 * undici destroys the socket of a response that is not strictly HTTP, and its lenient parser cannot be enabled. A second request would
 * deliver a notification twice. So the refused bytes go to another reader, and the rest of the response follows from the same socket.
 *
 * A record consists of the chunks whose parts undici passes on, so it costs no further memory. The exchange closes the connection.
 */
export class ResponseRecorder {
  #socket: Socket | undefined
  #remoteAddress: string | undefined
  #exchange: RecordedExchange | undefined
  #record: Array<Buffer> = []
  #recordedBytes = 0
  #isTakenOver = false
  #isPaused = false

  /** Bytes of the record; 0 without one. */
  get recordedBytes(): number {
    return this.#recordedBytes
  }

  /** Address of the server of the last connection. A closed socket has forgotten the address. */
  get remoteAddress(): string | undefined {
    return this.#remoteAddress
  }

  /** Stops reading the socket after the takeover. */
  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    this.#socket?.read()
  }

  /** Makes a connector whose sockets are recorded. */
  wrap(connect: buildConnector.connector): buildConnector.connector {
    return (options, callback) =>
      connect(options, (...result) => {
        const [, socket] = result
        if (socket !== null) this.#attach(socket)
        callback(...result)
      })
  }

  /** Records the response to a request that is about to be written. Bytes that arrived before belong to no request. */
  start(exchange: RecordedExchange): void {
    if (this.#socket?.readableLength === 0) this.#exchange = exchange
  }

  /** Ends the record after the response, or before the socket is destroyed. */
  stop(): void {
    this.#exchange = undefined
    this.#record.length = 0
    this.#recordedBytes = 0
  }

  #attach(socket: Socket): void {
    this.stop()
    this.#socket = socket
    this.#remoteAddress = socket.remoteAddress
    this.#isTakenOver = false
    this.#isPaused = false
    const read = socket.read.bind(socket)
    const unshift = socket.unshift.bind(socket)
    const destroy = socket.destroy.bind(socket)
    socket.read = (size?: number): unknown => {
      if (this.#isPaused && this.#isTakenOver && this.#socket === socket) return null
      const bytes: unknown = read(size)
      if (this.#exchange === undefined || this.#socket !== socket || !Buffer.isBuffer(bytes)) return bytes
      if (!this.#isTakenOver) return this.#keep(bytes, this.#exchange)
      this.#exchange.onRawData(bytes)
      return null
    }
    socket.unshift = (chunk: unknown, encoding?: BufferEncoding) => {
      if (this.#socket === socket && Buffer.isBuffer(chunk)) this.#forgetLast(chunk.length)
      unshift(chunk, encoding)
    }
    socket.destroy = (error?: Error) => {
      if (this.#socket !== socket || !this.#mayTakeOver(error)) return destroy(error)
      this.#takeOver(socket)
      return socket
    }
  }

  #keep(bytes: Buffer, exchange: RecordedExchange): Buffer {
    this.#recordedBytes += bytes.length
    if (this.#recordedBytes > maxFramingBytes + maxFramingRatio * exchange.bodySize()) this.stop()
    else this.#record.push(bytes)
    return bytes
  }

  /** A paused parser puts bytes back into the socket, and reads these bytes again later. */
  #forgetLast(count: number): void {
    while (count > 0) {
      const last = this.#record.pop()
      if (last === undefined) return
      const kept = Math.max(last.length - count, 0)
      count -= last.length - kept
      this.#recordedBytes -= last.length - kept
      if (kept > 0) this.#record.push(last.subarray(0, kept))
    }
  }

  /** A response without any byte is lost. After the takeover, undici may complain again. */
  #mayTakeOver(error: Error | undefined): boolean {
    return this.#exchange !== undefined && isRefusal(error) && (this.#isTakenOver || this.#record.length > 0)
  }

  #takeOver(socket: Socket): void {
    const exchange = this.#exchange
    if (exchange === undefined || this.#isTakenOver) return
    this.#isTakenOver = true
    socket.once("end", () => this.#exchange?.onRawEnd())
    exchange.onRefusal()
    for (const bytes of this.#record.splice(0)) this.#exchange?.onRawData(bytes)
    if (socket.readableEnded) this.#exchange?.onRawEnd()
  }
}

const refusalCodes: ReadonlySet<string> = new Set([
  "UND_ERR_RES_CONTENT_LENGTH_MISMATCH",
  "UND_ERR_SOCKET",
  // undici expects no 101 (Switching Protocols).
  "ERR_ASSERTION"
])

/** undici destroys the socket of a response that it cannot read, or that ends too early. */
const isRefusal = (error: Error | undefined): boolean => {
  const code = codeOf(error)
  return isParserCode(code) || refusalCodes.has(code)
}
