import { stripControls } from "#domain/ControlCharacters.ts"
import type { ConnectionPools } from "./ConnectionPools.ts"
import {
  type BodyLimit,
  HttpExchange,
  type HttpRequest,
  type ResponseHandler,
  type ResponseHeaders
} from "./HttpExchange.ts"
import { NetworkError } from "./NetworkError.ts"
import type { TimerWheel, WheelTimer } from "#layers/TimerWheel.ts"

export interface CallbackRequestOptions {
  readonly pools: ConnectionPools
  readonly timers: TimerWheel
  /** Time from the start of the exchange to the end of the response. */
  readonly timeoutMs: number
  /** Bytes of the response's body that are read. */
  readonly maxResponseBytes: number
}

export interface CallbackResponse {
  readonly status: number
  /** The beginning of the body. */
  readonly body: Buffer
  /** Target of a redirect, as received. */
  readonly location?: string | ReadonlyArray<string>
  /** The Retry-After field; the first of repeated ones. */
  readonly retryAfter?: string
  /** Milliseconds from the start of the exchange. */
  readonly latency: number
  /** Address of the server, if known. */
  readonly server?: string
}

/** A request calls one of the two, once. */
export interface CallbackResponseHandler {
  readonly onResponse: (response: CallbackResponse) => void
  readonly onFailure: (failure: NetworkError) => void
}

/**
 * One request to a subscriber's callback. Its result is the status and the beginning of the body; redirects are not followed.
 *
 * After the status has arrived, a broken body does not fail the request.
 */
export class CallbackRequest implements ResponseHandler {
  private readonly options: CallbackRequestOptions
  private readonly request: HttpRequest
  private readonly handler: CallbackResponseHandler
  private exchange: HttpExchange
  private isRetried = false
  private timer: WheelTimer | undefined
  private startedAt = 0
  private status = 0
  private location: string | ReadonlyArray<string> | undefined
  private retryAfter: string | undefined

  constructor(options: CallbackRequestOptions, request: HttpRequest, handler: CallbackResponseHandler) {
    this.options = options
    this.request = request
    this.handler = handler
    this.exchange = new HttpExchange(options.pools, request, this)
  }

  start(): void {
    this.exchange.start()
  }

  /** Ends the request without a result, for an interrupted fiber. */
  abandon(): void {
    this.cancelTimer()
    this.exchange.abandon()
  }

  onStart(): void {
    this.startedAt = performance.now()
    this.timer = this.options.timers.add(this.options.timeoutMs, () => this.onTimeout())
  }

  onHeaders(status: number, { location, "retry-after": retryAfter }: ResponseHeaders): BodyLimit {
    this.status = status
    this.location = location
    this.retryAfter = typeof retryAfter === "string" ? retryAfter : retryAfter?.[0]
    return { maxBytes: this.options.maxResponseBytes, onExcess: "cut" }
  }

  onBody(body: Buffer, server?: string): void {
    this.cancelTimer()
    const latency = performance.now() - this.startedAt
    const { location, retryAfter, status } = this
    const response = server === undefined ? { status, body, latency } : { status, body, latency, server }
    // Nearly no response has one of the two, and each delivery makes this object.
    if (location === undefined && retryAfter === undefined) return this.handler.onResponse(response)
    this.handler.onResponse({
      ...response,
      ...(location === undefined ? {} : { location }),
      ...(retryAfter === undefined ? {} : { retryAfter })
    })
  }

  onFailure(failure: NetworkError): void {
    if (this.status !== 0) return this.onBody(this.exchange.body(), this.exchange.server)
    this.cancelTimer()
    if (failure.isClosedEarly && this.request.method === "GET" && !this.isRetried) return this.retry()
    this.handler.onFailure(failure)
  }

  onTooLarge(): void {
    this.onBody(this.exchange.body(), this.exchange.server)
  }

  private onTimeout(): void {
    this.exchange.abandon()
    const text = `no answer within ${this.options.timeoutMs / 1000} s`
    this.onFailure(new NetworkError("Timeout", this.request.url.hostname, text))
  }

  /** The server may have closed an idle connection just before its reuse. Only a GET is safe to repeat. */
  private retry(): void {
    this.isRetried = true
    this.exchange = new HttpExchange(this.options.pools, this.request, this)
    this.exchange.start()
  }

  private cancelTimer(): void {
    if (this.timer !== undefined) this.options.timers.cancel(this.timer)
  }
}

/** The beginning of a body as one line of text, in UTF-16 units. */
export const excerptOf = (body: Uint8Array, length: number): string =>
  stripControls(new TextDecoder().decode(body.subarray(0, 4 * length)).replace(/[\0-\x1f\x7f-\x9f]+/g, " ")).slice(
    0,
    length
  )
