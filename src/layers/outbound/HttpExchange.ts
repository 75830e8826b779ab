import type { Client, Dispatcher } from "undici"
import type { ConnectionPool, ConnectionPools, PoolTicket } from "./ConnectionPools.ts"
import { freeBytes } from "./FreeMemory.ts"
import { NetworkError, toNetworkError } from "./NetworkError.ts"

/** One request in the form that undici takes. */
export interface HttpRequest {
  readonly url: URL
  readonly method: "GET" | "POST"
  /** Flat: name, value, name, value … */
  readonly headers: Array<string>
  readonly body?: Uint8Array
  /** Called just before the first byte is written. When it returns false, the exchange fails with the reason `LeaseLost`. */
  readonly confirmSend?: () => boolean
}

export type ResponseHeaders = Record<string, string | Array<string> | undefined>

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
  readonly onBody: (body: Buffer) => void
  readonly onFailure: (failure: NetworkError) => void
  readonly onTooLarge: (maxBytes: number) => void
}

const maxHeaderFields = 500

/** Informational responses (1xx) before the final response. */
const maxInformational = 10

const emptyBody = Buffer.alloc(0)

/** A request and its response over a pooled connection, without redirects, decompression or deadline. */
export class HttpExchange implements Dispatcher.DispatchHandler, PoolTicket {
  private readonly pools: ConnectionPools
  private readonly request: HttpRequest
  private readonly handler: ResponseHandler
  private pool: ConnectionPool | undefined
  private connection: Client | undefined
  private isOver = false
  private informational = 0
  private status = 0
  private limit: BodyLimit = { maxBytes: 0, onExcess: "cut" }
  private readonly chunks: Array<Buffer> = []
  private size = 0

  constructor(pools: ConnectionPools, request: HttpRequest, handler: ResponseHandler) {
    this.pools = pools
    this.request = request
    this.handler = handler
  }

  start(): void {
    const pool = this.pools.acquire(this.request.url.origin, this)
    // A waiting exchange needs its pool to withdraw the ticket. An exchange that has started already has it.
    this.pool ??= pool
  }

  /** Closes the connection, or withdraws the ticket of a waiting exchange. Calls no handler. */
  abandon(): void {
    if (this.isOver) return
    this.isOver = true
    if (this.pool !== undefined) this.pools.destroy(this.pool, this, this.connection)
  }

  /** Frees the memory of the body. No reader may use the body any more. */
  freeBody(): void {
    for (const chunk of this.chunks) freeBytes(chunk)
  }

  onConnection(pool: ConnectionPool, connection: Client): void {
    this.pool = pool
    this.connection = connection
    this.handler.onStart?.()
    const { body, headers, method, url } = this.request
    connection.dispatch({ path: url.pathname + url.search, method, headers, body: body ?? null }, this)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.request.confirmSend?.() !== false) return
    controller.abort(new NetworkError("LeaseLost", this.request.url.hostname, "withdrawn before it was sent"))
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: ResponseHeaders): void {
    if (this.isOver) return
    if (status < 200) return this.countInformational()
    if (countFields(controller.rawHeaders) > maxHeaderFields) {
      return this.fail(`the answer has more than ${maxHeaderFields} header fields`)
    }
    this.status = status
    this.limit = this.handler.onHeaders(status, headers)
    if (this.limit.onExcess === "fail" && Number(headers["content-length"]) > this.limit.maxBytes) this.failTooLarge()
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.isOver) return
    const room = this.limit.maxBytes - this.size
    this.size += chunk.length
    if (chunk.length <= room) {
      this.chunks.push(chunk)
    } else if (this.limit.onExcess === "cut") {
      this.chunks.push(chunk.subarray(0, room))
      this.abandon()
      this.handler.onBody(this.body())
    } else {
      this.failTooLarge()
    }
  }

  onResponseEnd(): void {
    if (this.isOver) return
    this.releaseConnection()
    this.handler.onBody(this.body())
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    if (this.isOver) return
    this.releaseConnection()
    this.handler.onFailure(toNetworkError(error, this.request.url.hostname, this.status !== 0))
  }

  /** The part of the body that has arrived, within the limit. */
  body(): Buffer {
    const [first] = this.chunks
    if (first === undefined) return emptyBody
    return this.chunks.length === 1 ? first : Buffer.concat(this.chunks)
  }

  private countInformational(): void {
    if (++this.informational > maxInformational) this.fail("endless informational answers (1xx)")
  }

  private failTooLarge(): void {
    this.abandon()
    this.handler.onTooLarge(this.limit.maxBytes)
  }

  private fail(text: string): void {
    this.abandon()
    this.handler.onFailure(new NetworkError("Protocol", this.request.url.hostname, text))
  }

  private releaseConnection(): void {
    this.isOver = true
    if (this.pool !== undefined) this.pools.release(this.pool, this, this.connection)
  }
}

/** undici's raw headers are flat: name, value, name, value … */
const countFields = (raw: Dispatcher.DispatchController["rawHeaders"]): number =>
  Array.isArray(raw) ? raw.length / 2 : 0
