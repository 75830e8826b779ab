import { Clock, Effect, Layer } from "effect"
import * as Fingerprint from "#domain/Fingerprint.ts"
import { type Fetched, Fetcher, FetchError, type FetchRequest } from "#domain/ports/Fetcher.ts"
import { maxTopicLength } from "#domain/Topic.ts"
import type { Deadline, TimerWheel } from "./TimerWheel.ts"
import { decompress, DecompressionError } from "./Decompression.ts"
import { type AnswerHeaders, type BodyLimit, HttpExchange, type ResponseHandler } from "./HttpExchange.ts"
import { free } from "./FreeMemory.ts"
import { Network } from "./Network.ts"
import * as NetworkLayer from "./Network.ts"
import type { NetworkError } from "./NetworkError.ts"
import type { ConnectionPools } from "./ConnectionPools.ts"
import * as Redirects from "./Redirects.ts"
import { type Asked, CoalescedFetches } from "./CoalescedFetches.ts"

/** Milliseconds for a whole fetch. */
const defaultDeadline = 30_000

/** Bytes of a document. */
const defaultMaxBytes = 32 * 1024 * 1024

/** Bytes that are read of an answer whose body nobody needs: error pages, and redirects (to keep the connection). */
const errorBytes = 64 * 1024
const redirectBytes = 16 * 1024

interface Means {
  readonly origins: ConnectionPools
  readonly deadlines: TimerWheel
  readonly userAgent: string
  readonly shared: CoalescedFetches
  /** URLs that redirects of others lead to: who asks for one shares it with them. The longest unused is forgotten first. */
  readonly targets: Set<string>
}

/** Targets of redirects that are remembered, at most. */
const maxTargets = 10_000

/** Feeds first, for servers that negotiate; `text/html` is not named, or an API would show its page for browsers. */
const accept =
  "application/atom+xml, application/rss+xml, application/feed+json, application/rdf+xml, application/xml;q=0.9, text/xml;q=0.9, */*;q=0.8"

const acceptEncoding = "gzip, deflate, br, zstd"

/**
 * Fetches over undici's `dispatch`.
 *
 * Everything between the call and its answer is callbacks of one object a fetch: as effects, redirects, deadline and decompression would cost
 * several times the fetch. Interrupting the effect closes the connection.
 */
export const layerNoDeps = Layer.effect(
  Fetcher,
  Effect.gen(function*() {
    const network = yield* Network
    const origins = yield* network.origins({ connectionsPerOrigin: 16, maxIdleOrigins: 1_000, keepAlive: 65_000 })
    const clock = yield* Clock.Clock
    const means: Means = {
      origins,
      deadlines: network.deadlines,
      userAgent: network.userAgent,
      shared: new CoalescedFetches(origins, () => clock.currentTimeMillisUnsafe()),
      targets: new Set()
    }
    return Fetcher.of({
      fetch: (request) =>
        Effect.callback<Fetched, FetchError>((resume) => {
          const fetch = new Fetch(means, request, resume)
          fetch.start()
          return Effect.sync(() => fetch.stop())
        })
    })
  })
)

export const layer = layerNoDeps.pipe(Layer.provide(NetworkLayer.layer))

type Resume = (result: Effect.Effect<Fetched, FetchError>) => void

/** One fetch: exchanges, one after another, until an answer is no redirect. */
class Fetch implements ResponseHandler {
  private readonly means: Means
  private readonly request: FetchRequest
  private readonly resume: Resume
  private readonly maxBytes: number
  private readonly given: URL | undefined
  private url: URL
  private exchange: Asked | undefined
  private deadline: Deadline | undefined
  private redirects = 0
  private permanent = true
  private retried = false
  private status = 0
  private headers: AnswerHeaders = {}

  constructor(means: Means, request: FetchRequest, resume: Resume) {
    this.means = means
    this.request = request
    this.resume = resume
    this.maxBytes = request.maxBytes ?? defaultMaxBytes
    this.given = Redirects.httpUrl(request.url)
    this.url = this.given ?? nowhere
  }

  start(): void {
    if (this.given === undefined) return this.fail("Protocol", "not an http or https URL")
    const milliseconds = this.request.deadline ?? defaultDeadline
    this.deadline = this.means.deadlines.add(milliseconds, () => {
      this.fail(
        "Timeout",
        `${this.url.hostname}: ${this.status === 0 ? "no answer" : "no end of the answer"} within ${
          milliseconds / 1000
        } s`
      )
    })
    this.ask()
  }

  /** The fiber was interrupted. */
  stop(): void {
    if (this.deadline !== undefined) this.means.deadlines.cancel(this.deadline)
    this.exchange?.abandon()
  }

  answered(status: number, headers: AnswerHeaders): BodyLimit {
    this.status = status
    this.headers = headers
    if (Redirects.isRedirect(status)) return { bytes: redirectBytes, beyond: "cut" }
    if (status >= 400) return { bytes: Math.min(errorBytes, this.maxBytes), beyond: "cut" }
    return { bytes: this.maxBytes, beyond: "fail" }
  }

  ended(body: Buffer): void {
    const location = this.headers.location
    if (Redirects.isRedirect(this.status) && typeof location === "string" && location !== "") {
      return this.follow(location)
    }
    try {
      const bytes = decompress({
        bytes: body,
        encoding: joined(this.headers["content-encoding"]),
        contentType: joined(this.headers["content-type"]),
        whole: this.headers["content-length"] !== undefined || this.headers["transfer-encoding"] !== undefined,
        maxBytes: this.maxBytes
      })
      if (!(bytes instanceof Promise)) return this.succeed(bytes)
      bytes.then((unpacked) => this.succeed(unpacked), (error: unknown) => this.undecodable(error))
    } catch (error) {
      this.undecodable(error)
    }
  }

  failed(failure: NetworkError): void {
    // A connection kept for the next fetch may be closed by the server just as that begins. A GET may be sent twice.
    if (failure.closedEarly && !this.retried) {
      this.retried = true
      return this.ask()
    }
    this.fail(failure.kind, failure.message)
  }

  tooLarge(limit: number): void {
    this.fail("TooLarge", `${this.url.hostname}: larger than ${limit} bytes`)
  }

  private ask(): void {
    this.status = 0
    const call = { url: this.url, method: "GET", headers: this.requestHeaders() } as const
    const { since } = this.request
    if (since !== undefined && this.isShared()) {
      this.exchange = this.means.shared.ask({ ...call, since }, this)
      return
    }
    const exchange = new HttpExchange(this.means.origins, call, this)
    this.exchange = exchange
    exchange.start()
  }

  /** Others may ask for the same, and get as much of it. */
  private isShared(): boolean {
    const { maxBytes, shared, url } = this.request
    return maxBytes === undefined && (shared === true || this.redirects > 0 || this.means.targets.has(url))
  }

  private requestHeaders(): Array<string> {
    const headers = ["user-agent", this.means.userAgent, "accept", accept, "accept-encoding", acceptEncoding]
    const { etag, lastModified } = this.request
    if (isFieldValue(etag)) headers.push("if-none-match", etag)
    if (isFieldValue(lastModified)) headers.push("if-modified-since", lastModified)
    const given = this.given
    if (given !== undefined && Redirects.mayReceive(given, this.url)) {
      const authorization = Redirects.authorizationOf(given)
      if (authorization !== undefined) headers.push("authorization", authorization)
    }
    return headers
  }

  private follow(location: string): void {
    if (++this.redirects > Redirects.maxRedirects) {
      return this.fail("Redirects", `${this.url.hostname}: more than ${Redirects.maxRedirects} redirects`)
    }
    const target = Redirects.targetOf(location, this.url)
    if (target === undefined) {
      return this.fail("Redirects", `${this.url.hostname}: redirects to something that is no usable http or https URL`)
    }
    if (!Redirects.isPermanent(this.status)) this.permanent = false
    this.url = target
    this.remember(target.href)
    this.ask()
  }

  /** No topic is longer: nobody will ask for it. */
  private remember(target: string): void {
    const { targets } = this.means
    if (target.length > maxTopicLength) return
    targets.delete(target)
    targets.add(target)
    if (targets.size > maxTargets) { for (const oldest of targets) return void targets.delete(oldest) }
  }

  private succeed(body: Uint8Array): void {
    this.cancelDeadline()
    const finalUrl = Redirects.withoutCredentials(this.url).href
    this.resume(Effect.succeed({
      status: this.status,
      headers: flatten(this.headers),
      body,
      signature: body.length === 0 ? emptySignature : Fingerprint.ofBytes(body),
      finalUrl,
      ...(this.redirects > 0 && this.permanent && !this.hasCredentials() ? { permanentUrl: finalUrl } : {}),
      ...this.releasing(body)
    }))
  }

  private releasing(body: Uint8Array): Pick<Fetched, "release"> {
    const { exchange } = this
    if (body.length === 0 || exchange?.release === undefined) return {}
    // later: the answer's end is told in the midst of undici's reading of the last chunk
    return {
      release: () =>
        queueMicrotask(() => {
          exchange.release?.()
          free(body)
        })
    }
  }

  /** A URL with credentials stays as its subscriber wrote it: the new one would lack them. */
  private hasCredentials(): boolean {
    return this.given !== undefined && Redirects.authorizationOf(this.given) !== undefined
  }

  private undecodable(error: unknown): void {
    // Of an error page only the status counts.
    if (this.status >= 400) return this.succeed(empty)
    const kind = error instanceof DecompressionError ? error.kind : "Encoding"
    this.fail(kind, `${this.url.hostname}: ${error instanceof Error ? error.message : "not readable"}`)
  }

  private fail(kind: FetchError["reason"]["_tag"], message: string): void {
    this.stop()
    this.resume(Effect.fail(new FetchError({ reason: { _tag: kind, message } })))
  }

  private cancelDeadline(): void {
    if (this.deadline !== undefined) this.means.deadlines.cancel(this.deadline)
  }
}

const nowhere = new URL("http://invalid/")
const empty = new Uint8Array(0)
const emptySignature = Fingerprint.ofBytes(empty)

/** A validator is sent back as it came; one with control characters would be no header field. */
const isFieldValue = (value: string | undefined): value is string =>
  value !== undefined && /^[\t\x20-\x7e\x80-\xff]+$/.test(value)

const joined = (value: string | ReadonlyArray<string> | undefined): string | undefined =>
  typeof value === "string" || value === undefined ? value : value.join(", ")

/** Repeated fields joined, in place: the object is this fetch's own. Cookies are nobody's business here. */
const flatten = (headers: AnswerHeaders): { readonly [name: string]: string | undefined } => {
  const flat: Record<string, string | undefined> = {}
  for (const name of Object.keys(headers)) {
    if (name !== "set-cookie" && name !== "__proto__") flat[name] = joined(headers[name])
  }
  return flat
}
