import type { Deadline, TimerWheel } from "./TimerWheel.ts"
import { type AnswerHeaders, type BodyLimit, type Call, HttpExchange, type ResponseHandler } from "./HttpExchange.ts"
import { NetworkError } from "./NetworkError.ts"
import type { ConnectionPools } from "./ConnectionPools.ts"

export interface CallbackRequestOptions {
  readonly origins: ConnectionPools
  readonly deadlines: TimerWheel
  /** Milliseconds from the inquiry's turn at the origin to the end of the answer. */
  readonly timeout: number
  /** Bytes of the answer's body that are read. */
  readonly answerBytes: number
}

export interface Answer {
  readonly status: number
  /** Its beginning, as it came. */
  readonly body: Buffer
  /** Of a redirect. */
  readonly location?: string
  /** Milliseconds from the start of the request. */
  readonly latency: number
}

/** Whoever waits for the answer; one of the two is called, once. */
export interface CallbackRequester {
  readonly answered: (answer: Answer) => void
  readonly failed: (failure: NetworkError) => void
}

/**
 * One request to a subscriber's callback, whose answer counts by its status and a few bytes: redirects are not followed.
 *
 * Once the status is there, nothing that the callback does to the body takes it back.
 */
export class CallbackRequest implements ResponseHandler {
  private readonly means: CallbackRequestOptions
  private readonly inquirer: CallbackRequester
  private readonly call: Call
  private exchange: HttpExchange
  private retried = false
  private deadline: Deadline | undefined
  private started = 0
  private status = 0
  private location: string | undefined

  constructor(means: CallbackRequestOptions, call: Call, inquirer: CallbackRequester) {
    this.means = means
    this.inquirer = inquirer
    this.call = call
    this.exchange = new HttpExchange(means.origins, call, this)
  }

  start(): void {
    this.exchange.start()
  }

  /** The fiber was interrupted. */
  stop(): void {
    this.cancelDeadline()
    this.exchange.abandon()
  }

  begun(): void {
    const { deadlines, timeout } = this.means
    this.started = performance.now()
    this.deadline = deadlines.add(timeout, () => this.expired())
  }

  answered(status: number, { location }: AnswerHeaders): BodyLimit {
    this.status = status
    if (typeof location === "string") this.location = location
    return { bytes: this.means.answerBytes, beyond: "cut" }
  }

  ended(body: Buffer): void {
    this.cancelDeadline()
    const latency = performance.now() - this.started
    const { location, status } = this
    this.inquirer.answered({ status, body, latency, ...(location === undefined ? {} : { location }) })
  }

  failed(failure: NetworkError): void {
    if (this.status !== 0) return this.ended(this.exchange.body())
    this.cancelDeadline()
    if (failure.closedEarly && this.call.method === "GET" && !this.retried) return this.retry()
    this.inquirer.failed(failure)
  }

  tooLarge(): void {
    this.ended(this.exchange.body())
  }

  private expired(): void {
    this.exchange.abandon()
    this.failed(
      new NetworkError("Timeout", this.call.url.hostname, `no answer within ${this.means.timeout / 1000} s`)
    )
  }

  /** The server may have closed a kept connection just as it was used again. Only what is safe to ask twice is asked twice. */
  private retry(): void {
    this.retried = true
    this.exchange = new HttpExchange(this.means.origins, this.call, this)
    this.exchange.start()
  }

  private cancelDeadline(): void {
    if (this.deadline !== undefined) this.means.deadlines.cancel(this.deadline)
  }
}

/** The beginning of a body as one line of text. */
export const excerptOf = (body: Uint8Array, length: number): string =>
  new TextDecoder().decode(body.subarray(0, 4 * length)).replace(/[\0-\x1f\x7f-\x9f]+/g, " ").slice(0, length)
