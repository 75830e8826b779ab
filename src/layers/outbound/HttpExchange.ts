import { Readable } from "node:stream"
import type { Dispatcher } from "undici"
import { type BodyMemory, BodyRoom } from "./BodyRoom.ts"
import type { Connection, ConnectionPool, ConnectionPools, PoolTicket } from "./ConnectionPools.ts"
import { freeBytes } from "./FreeMemory.ts"
import type { MemoryReservation } from "#domain/collections/MemoryBudget.ts"
import { LenientResponseReader, type ResponseHeaders } from "./LenientResponseReader.ts"
import { NetworkError, type NetworkErrorReason, toNetworkError } from "./NetworkError.ts"
import { maxHeaderFields, maxInformational, type ResponseFault, responseFaults } from "./ResponseFault.ts"
import type { RecordedExchange } from "./ResponseRecorder.ts"

/** One request in the form that undici takes. */
export interface HttpRequest {
  readonly url: URL
  readonly method: "GET" | "POST"
  /** Flat: name, value, name, value … */
  readonly headers: Array<string>
  readonly body?: Uint8Array
  /** The upload of `body` stops as soon as a response other than 2xx begins. */
  readonly stopsEarly?: boolean
  /** Called with the server's address just before the first byte is written. The exchange fails with a returned reason. */
  readonly confirmSend?: (server: string | undefined) => NetworkErrorReason | undefined
  /** Memory of the response's body; a body without it is not counted. */
  readonly memory?: BodyMemory
}

export type { ResponseHeaders } from "./LenientResponseReader.ts"

/** How much of a response's body is read. */
export interface BodyLimit {
  readonly maxBytes: number
  /** A longer body is cut, or fails the exchange. */
  readonly onExcess: "cut" | "fail"
}

/** Callbacks of one exchange. Either `onBody`, `onFailure` or `onTooLarge` ends it, once, unless the exchange is abandoned. */
export interface ResponseHandler {
  /** The exchange has got a connection. */
  readonly onStart?: () => void
  readonly onHeaders: (status: number, headers: ResponseHeaders) => BodyLimit
  /** `server` is the address of the server, if known. */
  readonly onBody: (body: Buffer, server?: string) => void
  readonly onFailure: (failure: NetworkError) => void
  readonly onTooLarge: (maxBytes: number) => void
}

const emptyBody = Buffer.alloc(0)

/** Bytes of an upload that are written at once. */
const uploadPartBytes = 64 * 1024

/** Chunks that are kept as they arrive. More are merged: an object for each byte would take a hundred times as much memory. */
const maxLooseChunks = 4_096

/**
 * A request and its response over a pooled connection, without redirects, decompression or deadline.
 *
 * A response that undici refuses is read once more from its first byte, leniently, and its connection is closed afterwards.
 */
export class HttpExchange implements Dispatcher.DispatchHandler, PoolTicket, RecordedExchange {
  private readonly pools: ConnectionPools
  private readonly request: HttpRequest
  private readonly handler: ResponseHandler
  private pool: ConnectionPool | undefined
  private connection: Connection | undefined
  private lenientReader: LenientResponseReader | undefined
  private isOver = false
  private informational = 0
  private status = 0
  private limit: BodyLimit = { maxBytes: 0, onExcess: "cut" }
  private readonly chunks: Array<Buffer> = []
  private mergedChunks = 0
  private size = 0
  /** Address of the server, once the response has begun. */
  server: string | undefined
  private readonly room: BodyRoom | undefined

  constructor(pools: ConnectionPools, request: HttpRequest, handler: ResponseHandler) {
    this.pools = pools
    this.request = request
    this.handler = handler
    if (request.memory !== undefined) this.room = new BodyRoom(request.memory, request.url.hostname)
  }

  start(): void {
    const pool = this.pools.acquire(this.request.url.origin, this)
    // A waiting exchange needs its pool to withdraw the ticket. An exchange that has started already has it.
    this.pool ??= pool
  }

  /** Closes the connection, or withdraws the ticket of a waiting exchange. Calls no handler, and returns the room of the body. */
  abandon(): void {
    this.disconnect()
    this.room?.release()
  }

  /** Frees the memory of the body. No reader may use the body any more. */
  freeBody(): void {
    for (const chunk of this.chunks) freeBytes(chunk)
  }

  /** The room of the complete body. The caller releases it. */
  takeRoom(): MemoryReservation | undefined {
    return this.room?.take()
  }

  onConnection(pool: ConnectionPool, connection: Connection): void {
    this.pool = pool
    this.connection = connection
    this.handler.onStart?.()
    const { body, headers, method, stopsEarly, url } = this.request
    const path = url.pathname + url.search
    if (stopsEarly !== true || body === undefined) {
      connection.dispatch({ path, method, headers, body: body ?? null }, this)
      return
    }
    const length = ["content-length", String(body.length)]
    connection.dispatch({
      path,
      method,
      headers: [...headers, ...length],
      body: Readable.from(this.uploadUntilRefusal(body))
    }, this)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    const reason = this.request.confirmSend?.(this.connection?.recorder.remoteAddress)
    if (reason === undefined) return this.connection?.recorder.start(this)
    controller.abort(new NetworkError(reason._tag, this.request.url.hostname, reason.text))
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: ResponseHeaders): void {
    if (this.isOver) return
    if (status < 200) return this.countInformational()
    if (countFields(controller.rawHeaders) > maxHeaderFields) return this.fail("headerCount")
    this.startBody(status, headers)
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.isOver) return
    this.addToBody(chunk)
    if (this.room?.isWaiting !== true) return
    controller.pause()
    this.room.onRoom(() => controller.resume())
  }

  onResponseEnd(): void {
    if (this.isOver) return
    this.releaseConnection()
    this.passBody()
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    if (this.isOver) return
    this.releaseConnection()
    this.room?.release()
    this.handler.onFailure(toNetworkError(error, this.request.url.hostname, this.status !== 0))
  }

  bodySize(): number {
    return this.size
  }

  onRefusal(): void {
    this.chunks.length = 0
    this.mergedChunks = 0
    this.size = 0
    this.lenientReader = new LenientResponseReader({
      onHead: (status, headers) => {
        // undici may have passed on the same header before it refused the body.
        if (this.status === 0) this.startBody(status, headers)
      },
      onData: (bytes) => this.addToBody(bytes),
      onEnd: () => {
        this.disconnect()
        this.passBody()
      },
      onFault: (fault) => this.fail(fault)
    })
  }

  onRawData(bytes: Buffer): void {
    this.lenientReader?.read(bytes)
    if (this.isOver || this.room?.isWaiting !== true) return
    this.connection?.recorder.pause()
    this.room.onRoom(() => this.connection?.recorder.resume())
  }

  onRawEnd(): void {
    this.lenientReader?.end()
  }

  /** The part of the body that has arrived, within the limit. */
  body(): Buffer {
    const [first] = this.chunks
    if (first === undefined) return emptyBody
    if (this.chunks.length === 1) return first
    const chunks = this.chunks.splice(0)
    const body = Buffer.concat(chunks)
    this.chunks.push(body)
    // In a microtask, because undici may still read the last chunk.
    if (this.isOver) queueMicrotask(() => chunks.forEach(freeBytes))
    return body
  }

  /** The parts of a body. undici takes the next part when the socket has room, and closes the connection of a part that is missing. */
  private async *uploadUntilRefusal(body: Uint8Array): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < body.length && this.status < 300 && !this.isOver; at += uploadPartBytes) {
      yield body.subarray(at, at + uploadPartBytes)
    }
  }

  private startBody(status: number, headers: ResponseHeaders): void {
    this.status = status
    this.server = this.connection?.recorder.remoteAddress
    this.limit = this.handler.onHeaders(status, headers)
    if (this.limit.onExcess === "fail" && Number(headers["content-length"]) > this.limit.maxBytes) this.failTooLarge()
  }

  private addToBody(bytes: Buffer): void {
    const room = this.limit.maxBytes - this.size
    this.size += bytes.length
    if (bytes.length <= room) {
      this.addChunk(bytes)
    } else if (this.limit.onExcess === "cut") {
      this.addChunk(bytes.subarray(0, room))
      this.disconnect()
      this.passBody()
    } else {
      this.failTooLarge()
    }
  }

  private addChunk(bytes: Buffer): void {
    this.chunks.push(bytes)
    if (this.chunks.length - this.mergedChunks >= maxLooseChunks) {
      this.chunks.push(Buffer.concat(this.chunks.splice(this.mergedChunks)))
      this.mergedChunks = this.chunks.length
    }
    this.room?.growTo(Math.max(this.size, this.connection?.recorder.recordedBytes ?? 0), this.server)
  }

  /** Passes the body on, as soon as the budget has room for its last bytes. */
  private passBody(): void {
    if (this.room?.isWaiting === true) this.room.onRoom(() => this.handler.onBody(this.body(), this.server))
    else this.handler.onBody(this.body(), this.server)
  }

  /** Closes the connection, and keeps the received part of the body. */
  private disconnect(): void {
    if (this.isOver) return
    this.end()
    if (this.pool !== undefined) this.pools.destroy(this.pool, this, this.connection)
  }

  private countInformational(): void {
    if (++this.informational > maxInformational) this.fail("informational")
  }

  private failTooLarge(): void {
    this.abandon()
    this.handler.onTooLarge(this.limit.maxBytes)
  }

  /** A response that breaks off within its header may be an idle connection's end. */
  private fail(fault: ResponseFault): void {
    this.abandon()
    const isClosedEarly = fault === "incomplete" && this.status === 0
    const failure = new NetworkError("Protocol", this.request.url.hostname, responseFaults[fault], { isClosedEarly })
    this.handler.onFailure(failure)
  }

  private end(): void {
    this.isOver = true
    this.lenientReader?.stop()
    this.connection?.recorder.stop()
  }

  private releaseConnection(): void {
    this.end()
    if (this.pool !== undefined) this.pools.release(this.pool, this, this.connection)
  }
}

/** undici's raw headers are flat: name, value, name, value … */
const countFields = (raw: Dispatcher.DispatchController["rawHeaders"]): number =>
  Array.isArray(raw) ? raw.length / 2 : 0
