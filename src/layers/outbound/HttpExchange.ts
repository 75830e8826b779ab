import type { Client, Dispatcher } from "undici"
import { explain, NetworkError, Unsent } from "./NetworkError.ts"
import { free } from "./FreeMemory.ts"
import type { ConnectionPool, ConnectionPools, PoolTicket } from "./ConnectionPools.ts"

/** One request as undici takes it. */
export interface Call {
  readonly url: URL
  readonly method: "GET" | "POST"
  /** Flat: name, value, name, value … */
  readonly headers: Array<string>
  readonly body?: Uint8Array
  /** Asked just before the first byte is written; false: it is not, and the exchange fails with `Unsent`. */
  readonly mayLeave?: () => boolean
}

export type AnswerHeaders = Record<string, string | Array<string> | undefined>

/** How much of an answer's body is read. */
export interface BodyLimit {
  readonly bytes: number
  /** Beyond it: end the exchange well with what has been read, or call it a failure. */
  readonly beyond: "cut" | "fail"
}

/** Whoever asked. One of `ended` and `failed` is called, once, unless the exchange is abandoned. */
export interface ResponseHandler {
  /** Its turn at the origin has come. */
  readonly begun?: () => void
  readonly answered: (status: number, headers: AnswerHeaders) => BodyLimit
  readonly ended: (body: Buffer) => void
  readonly failed: (failure: NetworkError) => void
  readonly tooLarge: (limit: number) => void
}

/** Header fields of an answer, at most; informational answers (1xx) before it, at most. */
const maxFields = 500
const maxInformational = 10

const nothing = Buffer.alloc(0)

/** A request and its answer over one of an origin's connections: no redirects, no decoding, no deadline. */
export class HttpExchange implements Dispatcher.DispatchHandler, PoolTicket {
  private readonly origins: ConnectionPools
  private readonly call: Call
  private readonly asker: ResponseHandler
  private origin: ConnectionPool | undefined
  private connection: Client | undefined
  private over = false
  private informational = 0
  private status = 0
  private limit: BodyLimit = { bytes: 0, beyond: "cut" }
  private readonly chunks: Array<Buffer> = []
  private size = 0

  constructor(origins: ConnectionPools, call: Call, asker: ResponseHandler) {
    this.origins = origins
    this.call = call
    this.asker = asker
  }

  start(): void {
    const origin = this.origins.enter(this.call.url.origin, this)
    // While it waits for its turn it must know where to leave.
    this.origin ??= origin
  }

  /** Nobody waits for the answer any more: closes the connection, or gives the turn up. Silent. */
  abandon(): void {
    if (this.over) return
    this.over = true
    if (this.origin !== undefined) this.origins.abandon(this.origin, this, this.connection)
  }

  /** Nobody looks at what has come any more. */
  release(): void {
    for (const chunk of this.chunks) free(chunk)
  }

  begin(origin: ConnectionPool, connection: Client): void {
    this.origin = origin
    this.connection = connection
    this.asker.begun?.()
    const { body, headers, method, url } = this.call
    connection.dispatch({ path: url.pathname + url.search, method, headers, body: body ?? null }, this)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.call.mayLeave?.() === false) controller.abort(new Unsent(this.call.url.hostname))
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: AnswerHeaders): void {
    if (this.over) return
    if (status < 200) return this.inform()
    if (fieldsOf(controller.rawHeaders) > maxFields) {
      return this.fail("Protocol", `the answer has more than ${maxFields} header fields`)
    }
    this.status = status
    this.limit = this.asker.answered(status, headers)
    if (this.limit.beyond === "fail" && Number(headers["content-length"]) > this.limit.bytes) this.overflow()
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.over) return
    const rest = this.limit.bytes - this.size
    this.size += chunk.length
    if (chunk.length <= rest) {
      this.chunks.push(chunk)
    } else if (this.limit.beyond === "cut") {
      this.chunks.push(chunk.subarray(0, rest))
      this.abandon()
      this.asker.ended(this.body())
    } else {
      this.overflow()
    }
  }

  onResponseEnd(): void {
    if (this.over) return
    this.leave()
    this.asker.ended(this.body())
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    if (this.over) return
    this.leave()
    this.asker.failed(explain(error, this.call.url.hostname, this.status !== 0))
  }

  private overflow(): void {
    this.abandon()
    this.asker.tooLarge(this.limit.bytes)
  }

  private inform(): void {
    if (++this.informational > maxInformational) this.fail("Protocol", "endless informational answers (1xx)")
  }

  private fail(kind: "Protocol", reason: string): void {
    this.abandon()
    this.asker.failed(new NetworkError(kind, this.call.url.hostname, reason))
  }

  private leave(): void {
    this.over = true
    if (this.origin !== undefined) this.origins.leave(this.origin, this, this.connection)
  }

  /** What has come of the answer's body, within the limit. */
  body(): Buffer {
    const [first] = this.chunks
    if (first === undefined) return nothing
    return this.chunks.length === 1 ? first : Buffer.concat(this.chunks)
  }
}

/** undici hands them over flat: name, value, name, value … */
const fieldsOf = (raw: Dispatcher.DispatchController["rawHeaders"]): number => (Array.isArray(raw) ? raw.length / 2 : 0)
