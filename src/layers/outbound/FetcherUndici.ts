import { Clock, Effect, Layer } from "effect"
import { BoundedMap } from "#domain/collections/BoundedMap.ts"
import type { MemoryBudget, MemoryReservation, MemoryWaiter } from "#domain/collections/MemoryBudget.ts"
import * as Fingerprint from "#domain/Fingerprint.ts"
import { DocumentMemory } from "#domain/ports/DocumentMemory.ts"
import { type Fetched, Fetcher, FetchError, type FetchRequest } from "#domain/ports/Fetcher.ts"
import { maxStoredLength } from "#domain/ports/ResourceStore.ts"
import { maxTopicLength } from "#domain/Topic.ts"
import { CoalescedFetches, type PendingResponse } from "./CoalescedFetches.ts"
import type { BodyMemory } from "./BodyRoom.ts"
import type { ConnectionPools } from "./ConnectionPools.ts"
import { decompress, DecompressionError } from "./Decompression.ts"
import { freeBytes } from "./FreeMemory.ts"
import type { HostTurn, HostTurns } from "./HostTurns.ts"
import { type BodyLimit, HttpExchange, type ResponseHandler, type ResponseHeaders } from "./HttpExchange.ts"
import { Network } from "./Network.ts"
import type { NetworkError } from "./NetworkError.ts"
import { RedirectCookies } from "./RedirectCookies.ts"
import * as Redirects from "./Redirects.ts"
import type { TimerWheel, WheelTimer } from "#layers/TimerWheel.ts"

/** Time for a whole fetch. */
const defaultDeadlineMs = 30_000

/** A fetch waits for memory, or for its turn at the target of a redirect, at most so many times its deadline. */
const maxWaits = 10

const defaultMaxBytes = 32 * 1024 * 1024

/** The open hub sends no larger document, so that strangers need none. */
const maxBytesOfStrangers = maxStoredLength

/** Bytes that are read of error pages, and of redirects, to keep their connection open. */
const maxErrorBytes = 64 * 1024
const maxRedirectBytes = 16 * 1024

interface FetchContext {
  readonly pools: ConnectionPools
  readonly timers: TimerWheel
  readonly hostTurns: HostTurns
  readonly userAgent: string
  readonly memory: MemoryBudget
  readonly coalesced: CoalescedFetches
  /** URLs that are known targets of redirects: fetches of these URLs are coalesced. */
  readonly redirectTargets: BoundedMap<string, true>
}

const maxRedirectTargets = 10_000

/** Prefers feeds, for servers that negotiate. Without `text/html`, because an API would answer with its page for browsers. */
const accept =
  "application/atom+xml, application/rss+xml, application/feed+json, application/rdf+xml, application/xml;q=0.9, text/xml;q=0.9, */*;q=0.8"

const acceptEncoding = "gzip, deflate, br, zstd"

/**
 * Fetches with undici's `dispatch`.
 *
 * One object with callbacks handles a whole fetch: as effects, redirects, deadline and decompression would cost several times the fetch.
 * Interrupting the effect closes the connection.
 */
export const layer = Layer.effect(
  Fetcher,
  Effect.gen(function*() {
    const { hostTurns, openPools, timers, userAgent } = yield* Network
    const pools = yield* openPools({ maxConnectionsPerOrigin: 16, maxIdlePools: 1_000, keepAliveMs: 65_000 })
    const clock = yield* Clock.Clock
    const context: FetchContext = {
      pools,
      timers,
      hostTurns,
      userAgent,
      memory: (yield* DocumentMemory).fetches,
      coalesced: new CoalescedFetches(pools, () => clock.currentTimeMillisUnsafe()),
      redirectTargets: new BoundedMap(maxRedirectTargets)
    }
    return Fetcher.of({
      fetch: (request) =>
        Effect.callback<Fetched, FetchError>((resume) => {
          const fetch = new Fetch(context, request, resume)
          fetch.start()
          return Effect.sync(() => fetch.abandon())
        })
    })
  })
)

type Resume = (result: Effect.Effect<Fetched, FetchError>) => void

/** One fetch: an exchange for each redirect, until a response is no redirect. */
class Fetch implements ResponseHandler, MemoryWaiter {
  private readonly context: FetchContext
  private readonly request: FetchRequest
  private readonly resume: Resume
  private readonly maxBytes: number
  private readonly requestedUrl: URL | undefined
  private url: URL
  private exchange: PendingResponse | undefined
  /** Room of the body, received and decompressed. */
  private room: MemoryReservation | undefined
  private timer: WheelTimer | undefined
  /** Milliseconds that are left of the deadline, while the deadline stands still. */
  private leftMs = 0
  private turn: HostTurn | undefined
  private redirects = 0
  private cookies: RedirectCookies | undefined
  private isPermanent = true
  private isRetried = false
  private status = 0
  private server: string | undefined
  private headers: ResponseHeaders = {}

  constructor(context: FetchContext, request: FetchRequest, resume: Resume) {
    this.context = context
    this.request = request
    this.resume = resume
    this.maxBytes = request.maxBytes ?? (request.strangersOnly === true ? maxBytesOfStrangers : defaultMaxBytes)
    this.requestedUrl = Redirects.parseHttpUrl(request.url)
    this.url = this.requestedUrl ?? invalidUrl
  }

  start(): void {
    if (this.requestedUrl === undefined) return this.fail("Protocol", "not an http or https URL")
    this.startTimer(this.deadlineMs)
    this.startExchange()
  }

  private get deadlineMs(): number {
    return this.request.deadline ?? defaultDeadlineMs
  }

  private startTimer(milliseconds: number): void {
    this.timer = this.context.timers.add(milliseconds, () => {
      const missing = this.status === 0 ? "no answer" : "no end of the answer"
      this.fail("Timeout", `${this.url.hostname}: ${missing} within ${this.deadlineMs / 1000} s`)
    })
  }

  /** A wait for memory is not the server's fault: the deadline stands still meanwhile. */
  onWait(isWaiting: boolean): void {
    if (isWaiting) this.stopDeadline("no room in memory for its answer")
    else this.resumeDeadline()
  }

  private stopDeadline(reason: string): void {
    const { timer } = this
    if (timer === undefined) return
    this.cancelTimer()
    this.leftMs = Math.max(timer.due - performance.now(), 0)
    const maxWaitMs = maxWaits * this.deadlineMs
    this.timer = this.context.timers.add(maxWaitMs, () => {
      this.fail("Timeout", `${this.url.hostname}: ${reason} within ${maxWaitMs / 1000} s`)
    })
  }

  private resumeDeadline(): void {
    if (this.timer === undefined) return
    this.cancelTimer()
    this.startTimer(this.leftMs)
  }

  /** Ends the fetch without a result, for an interrupted fiber. */
  abandon(): void {
    this.cancelTimer()
    this.exchange?.abandon()
    this.leaveTurn()
    this.room?.release()
  }

  onHeaders(status: number, headers: ResponseHeaders): BodyLimit {
    this.status = status
    this.headers = headers
    if (Redirects.isRedirect(status)) return { maxBytes: maxRedirectBytes, onExcess: "cut" }
    if (status >= 400) return { maxBytes: Math.min(maxErrorBytes, this.maxBytes), onExcess: "cut" }
    return { maxBytes: this.maxBytes, onExcess: "fail" }
  }

  onBody(body: Buffer, server?: string): void {
    if (Redirects.isRedirect(this.status)) {
      const [location, ...others] = Redirects.distinctLocations(this.headers.location, this.url)
      if (others.length > 0) return this.fail("Redirects", `${this.url.hostname}: redirects to two different addresses`)
      if (location !== undefined) {
        this.exchange?.takeRoom()?.release()
        return this.follow(location)
      }
    }
    this.server = server
    // A 304 needs no room, and does not wait for any.
    if (body.length === 0) return this.succeed(emptyBytes, emptyBytes)
    const received = this.exchange?.takeRoom()
    if (received !== undefined) return this.decompress(body, this.room = received)
    const { budget, isForStrangers, waiter } = this.bodyMemory()
    const room = budget.reserve(server ?? this.url.hostname, isForStrangers, waiter)
    this.room = room
    room.grow(body.length, () => this.decompress(body, room))
  }

  private decompress(body: Buffer, reservation: MemoryReservation): void {
    try {
      const bytes = decompress({
        bytes: body,
        reservation,
        encoding: joinValues(this.headers["content-encoding"]),
        contentType: joinValues(this.headers["content-type"]),
        isComplete: this.headers["content-length"] !== undefined || this.headers["transfer-encoding"] !== undefined,
        maxBytes: this.maxBytes
      })
      if (!(bytes instanceof Promise)) return this.succeed(body, bytes)
      bytes.then((decompressed) => this.succeed(body, decompressed), (error: unknown) => this.onUndecodable(error))
    } catch (error) {
      this.onUndecodable(error)
    }
  }

  onFailure(failure: NetworkError): void {
    // The server may have closed an idle connection just before its reuse. A GET is safe to repeat.
    if (failure.isClosedEarly && !this.isRetried) {
      this.isRetried = true
      return this.startExchange()
    }
    const { _tag } = failure.reason
    this.fail(_tag === "LeaseLost" || _tag === "Moved" ? "Protocol" : _tag, failure.message)
  }

  onTooLarge(maxBytes: number): void {
    this.fail("TooLarge", `${this.url.hostname}: larger than ${maxBytes} bytes`)
  }

  /**
   * Starts the exchange, after its turn at the host that is asked: each exchange of a stranger, and each redirect to another host.
   *
   * An account's first exchange has had its turn before the fetch.
   */
  private startExchange(): void {
    this.status = 0
    const isForStrangers = this.request.strangersOnly === true
    const { hostname } = this.url
    this.leaveTurn()
    if (!isForStrangers && hostname === this.requestedUrl?.hostname || this.isServed()) return this.exchangeNow()
    if (!isForStrangers) this.stopDeadline("no turn for the redirect")
    this.turn = this.context.hostTurns.enter(hostname, isForStrangers ? "strangers" : "accounts", {
      onStart: () => {
        if (!isForStrangers) this.resumeDeadline()
        this.exchangeNow()
      },
      onFull: () => this.fail("Timeout", `${hostname}: not asked, because many fetches wait for this host`)
    })
  }

  /** Whether another fetch serves this one. */
  private isServed(): boolean {
    const { since } = this.request
    return since !== undefined && this.mayCoalesce() &&
      this.context.coalesced.canServe({ url: this.url, headers: this.requestHeaders(), since, maxBytes: this.maxBytes })
  }

  private leaveTurn(): void {
    this.turn?.leave()
    this.turn = undefined
  }

  private exchangeNow(): void {
    const request = { url: this.url, method: "GET", headers: this.requestHeaders(), memory: this.bodyMemory() } as const
    const { since } = this.request
    if (since !== undefined && this.mayCoalesce()) {
      this.exchange = this.context.coalesced.fetch({ ...request, since, maxBytes: this.maxBytes }, this)
      return
    }
    const exchange = new HttpExchange(this.context.pools, request, this)
    this.exchange = exchange
    exchange.start()
  }

  private bodyMemory(): BodyMemory {
    return { budget: this.context.memory, isForStrangers: this.request.strangersOnly === true, waiter: this }
  }

  /** Other callers may fetch the same URL with the same limit. */
  private mayCoalesce(): boolean {
    const { maxBytes, shared, url } = this.request
    return maxBytes === undefined && (shared === true || this.redirects > 0 || this.context.redirectTargets.has(url))
  }

  private requestHeaders(): Array<string> {
    const headers = ["user-agent", this.context.userAgent, "accept", accept, "accept-encoding", acceptEncoding]
    const { etag, lastModified } = this.request
    if (isFieldValue(etag)) headers.push("if-none-match", etag)
    if (isFieldValue(lastModified)) headers.push("if-modified-since", lastModified)
    const { requestedUrl } = this
    if (requestedUrl !== undefined && Redirects.mayReceiveCredentials(requestedUrl, this.url)) {
      const authorization = Redirects.authorizationOf(requestedUrl)
      if (authorization !== undefined) headers.push("authorization", authorization)
    }
    const cookies = this.cookies?.fieldFor(this.url)
    if (isFieldValue(cookies)) headers.push("cookie", cookies)
    return headers
  }

  private follow(location: string): void {
    if (++this.redirects > Redirects.maxRedirects) {
      return this.fail("Redirects", `${this.url.hostname}: more than ${Redirects.maxRedirects} redirects`)
    }
    const target = Redirects.redirectTarget(location, this.url)
    if (target === undefined) {
      return this.fail(
        "Redirects",
        `${this.url.hostname}: redirects to an address that is not a usable http or https URL`
      )
    }
    if (!Redirects.isPermanent(this.status)) this.isPermanent = false
    const setCookies = this.headers["set-cookie"]
    if (setCookies !== undefined) (this.cookies ??= new RedirectCookies()).add(setCookies, this.url)
    this.url = target
    // A longer URL cannot be a topic.
    if (target.href.length <= maxTopicLength) this.context.redirectTargets.set(target.href, true)
    this.startExchange()
  }

  private succeed(received: Uint8Array, body: Uint8Array): void {
    this.cancelTimer()
    this.leaveTurn()
    if (received !== body) this.room?.shrink(received.length)
    const finalUrl = Redirects.withoutCredentials(this.url).href
    this.resume(Effect.succeed({
      status: this.status,
      headers: flattenHeaders(this.headers),
      body,
      signature: body.length === 0 ? emptySignature : Fingerprint.hashBytes(body),
      finalUrl,
      ...(this.request.strangersOnly === true ? { server: this.server } : {}),
      ...(this.redirects > 0 && this.isPermanent && !this.hasCredentials() ? { permanentUrl: finalUrl } : {}),
      ...this.releaseOf(body)
    }))
  }

  private releaseOf(body: Uint8Array): Pick<Fetched, "release" | "returnRoom"> {
    const { exchange, room } = this
    if (body.length === 0 || room === undefined) {
      room?.release()
      return {}
    }
    const returnRoom = () => room.release()
    if (exchange?.freeBody === undefined) return { returnRoom }
    // In a microtask, because undici reports the end of the response while it still reads the last chunk.
    return {
      returnRoom,
      release: () =>
        queueMicrotask(() => {
          exchange.freeBody?.()
          freeBytes(body)
        })
    }
  }

  /** A URL with credentials is not replaced after a permanent redirect, because the new URL would lack the credentials. */
  private hasCredentials(): boolean {
    return this.requestedUrl !== undefined && Redirects.authorizationOf(this.requestedUrl) !== undefined
  }

  private onUndecodable(error: unknown): void {
    // An error page counts by its status only.
    if (this.status >= 400) return this.succeed(emptyBytes, emptyBytes)
    const tag = error instanceof DecompressionError ? error.reason._tag : "Encoding"
    this.fail(tag, `${this.url.hostname}: ${error instanceof Error ? error.message : "not readable"}`)
  }

  private fail(tag: FetchError["reason"]["_tag"], message: string): void {
    this.abandon()
    this.resume(Effect.fail(new FetchError({ reason: { _tag: tag, message } })))
  }

  private cancelTimer(): void {
    if (this.timer !== undefined) this.context.timers.cancel(this.timer)
  }
}

const invalidUrl = new URL("http://invalid/")
const emptyBytes = new Uint8Array(0)
const emptySignature = Fingerprint.hashBytes(emptyBytes)

/** Validators and cookies are sent back unchanged. A value with control characters is not a valid header field, so it is not sent. */
const isFieldValue = (value: string | undefined): value is string =>
  value !== undefined && /^[\t\x20-\x7e\x80-\xff]+$/.test(value)

const joinValues = (value: string | ReadonlyArray<string> | undefined): string | undefined =>
  typeof value === "string" || value === undefined ? value : value.join(", ")

/** Joins repeated fields. Cookies are dropped, because no cookie outlives its fetch. */
const flattenHeaders = (headers: ResponseHeaders): { readonly [name: string]: string | undefined } => {
  const flat: Record<string, string | undefined> = {}
  for (const name of Object.keys(headers)) {
    if (name !== "set-cookie" && name !== "__proto__") flat[name] = joinValues(headers[name])
  }
  return flat
}
