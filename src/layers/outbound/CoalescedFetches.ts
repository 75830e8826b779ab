import { BoundedMap } from "#domain/collections/BoundedMap.ts"
import type { MemoryReservation } from "#domain/collections/MemoryBudget.ts"
import type { BodyMemory } from "./BodyRoom.ts"
import type { ConnectionPools } from "./ConnectionPools.ts"
import { type BodyLimit, HttpExchange, type ResponseHandler, type ResponseHeaders } from "./HttpExchange.ts"
import type { NetworkError } from "./NetworkError.ts"

/** A GET whose response may serve several callers. */
export interface CoalescedRequest {
  readonly url: URL
  /** Flat: name, value, name, value … Only callers with equal headers share a response. */
  readonly headers: Array<string>
  /** Epoch ms: the earliest start of an exchange whose response may serve this caller. */
  readonly since: number
  /** Maximum of the body. Only callers with the same maximum share a response. */
  readonly maxBytes: number
  readonly memory: BodyMemory
}

/** The caller's handle of a running fetch. */
export interface PendingResponse {
  readonly abandon: () => void
  /** Frees the memory of the body; absent if other callers may use the body, too. */
  readonly freeBody?: () => void
  /** The room of the complete body, for one of its callers. The others reserve room of their own. */
  readonly takeRoom: () => MemoryReservation | undefined
}

interface CachedResponse {
  readonly startedAt: number
  readonly endedAt: number
  readonly status: number
  readonly headers: ResponseHeaders
  readonly body: Buffer
}

const responseTtlMs = 10_000
const maxCachedResponses = 256
const maxCachedBytes = 16 * 1024 * 1024

/**
 * Coalesces equal requests: fragments of one page, and topics whose redirects lead to one URL.
 *
 * A caller during a running exchange joins it. A caller within 10 s after its end gets the cached response if that is fresh enough.
 * Requests with different credentials have different headers, so they never share a response.
 */
export class CoalescedFetches {
  readonly #pools: ConnectionPools
  readonly #now: () => number
  readonly #running = new Map<string, CoalescedFetch>()
  readonly #cache = new BoundedMap<string, CachedResponse>(maxCachedResponses, {
    maxWeight: maxCachedBytes,
    weightOf: ({ body }) => body.length
  })

  constructor(pools: ConnectionPools, now: () => number) {
    this.#pools = pools
    this.#now = now
  }

  /** Whether a caller gets a response without an exchange of its own. */
  canServe({ since, ...request }: Omit<CoalescedRequest, "memory">): boolean {
    const key = keyOf(request)
    const cached = this.#cache.get(key)
    if (cached !== undefined && cached.startedAt >= since && this.#now() - cached.endedAt <= responseTtlMs) return true
    return (this.#running.get(key)?.startedAt ?? -Infinity) >= since
  }

  /** All handlers of one URL must return the same body limit. */
  fetch({ headers, maxBytes, memory, since, url }: CoalescedRequest, handler: ResponseHandler): PendingResponse {
    const key = keyOf({ headers, maxBytes, url })
    const cached = this.#cache.get(key)
    if (cached !== undefined && cached.startedAt >= since && this.#now() - cached.endedAt <= responseTtlMs) {
      return replayCached(cached, handler)
    }
    const running = this.#running.get(key)
    if (running !== undefined && running.startedAt >= since) return running.join(handler)
    const fetch = new CoalescedFetch(this.#now(), () => {
      if (this.#running.get(key) === fetch) this.#running.delete(key)
    }, (response) => this.#store(key, response))
    this.#running.set(key, fetch)
    const pending = fetch.join(handler)
    fetch.start(new HttpExchange(this.#pools, { url, method: "GET", headers, memory }, fetch))
    return pending
  }

  #store(key: string, response: Omit<CachedResponse, "endedAt">): void {
    if (response.body.length > maxCachedBytes / 4) this.#cache.delete(key)
    else this.#cache.set(key, { ...response, endedAt: this.#now() })
  }
}

const keyOf = ({ headers, maxBytes, url }: Pick<CoalescedRequest, "headers" | "maxBytes" | "url">): string =>
  [url.href, maxBytes, ...headers].join("\n")

/** Replays a response in a microtask, so that the caller has its handle first: on a redirect the caller replaces the handle. */
const replayCached = ({ body, headers, status }: CachedResponse, handler: ResponseHandler): PendingResponse => {
  let isAbandoned = false
  queueMicrotask(() => {
    if (isAbandoned) return
    handler.onHeaders(status, headers)
    handler.onBody(body)
  })
  return { abandon: () => isAbandoned = true, takeRoom: () => undefined }
}

/** One exchange and the handlers of all its callers. */
class CoalescedFetch implements ResponseHandler {
  readonly startedAt: number
  readonly #onEnd: () => void
  readonly #store: (response: Omit<CachedResponse, "endedAt">) => void
  readonly #handlers = new Set<ResponseHandler>()
  #exchange: HttpExchange | undefined
  #limit: BodyLimit = { maxBytes: 0, onExcess: "cut" }
  #head: { readonly status: number; readonly headers: ResponseHeaders } | undefined

  constructor(startedAt: number, onEnd: () => void, store: (response: Omit<CachedResponse, "endedAt">) => void) {
    this.startedAt = startedAt
    this.#onEnd = onEnd
    this.#store = store
  }

  start(exchange: HttpExchange): void {
    this.#exchange = exchange
    exchange.start()
  }

  join(handler: ResponseHandler): PendingResponse {
    this.#handlers.add(handler)
    if (this.#head !== undefined) handler.onHeaders(this.#head.status, this.#head.headers)
    return { abandon: () => this.#leave(handler), takeRoom: () => this.#exchange?.takeRoom() }
  }

  onHeaders(status: number, headers: ResponseHeaders): BodyLimit {
    this.#head = { status, headers }
    for (const handler of this.#handlers) this.#limit = handler.onHeaders(status, headers)
    return this.#limit
  }

  onBody(body: Buffer, server?: string): void {
    this.#onEnd()
    if (this.#head !== undefined) this.#store({ ...this.#head, startedAt: this.startedAt, body })
    for (const handler of this.#handlers) handler.onBody(body, server)
  }

  onFailure(failure: NetworkError): void {
    this.#onEnd()
    for (const handler of this.#handlers) handler.onFailure(failure)
  }

  onTooLarge(maxBytes: number): void {
    this.#onEnd()
    for (const handler of this.#handlers) handler.onTooLarge(maxBytes)
  }

  /** The last caller to leave closes the connection. */
  #leave(handler: ResponseHandler): void {
    if (!this.#handlers.delete(handler) || this.#handlers.size > 0) return
    this.#onEnd()
    this.#exchange?.abandon()
  }
}
