import { type AnswerHeaders, type BodyLimit, HttpExchange, type ResponseHandler } from "./HttpExchange.ts"
import type { NetworkError } from "./NetworkError.ts"
import type { ConnectionPools } from "./ConnectionPools.ts"

/** A GET that several may ask for. */
export interface SharedCall {
  readonly url: URL
  /** Flat: name, value, name, value … The answer is given to those only who ask with the same. */
  readonly headers: Array<string>
  /** Epoch ms: an answer that was asked for since then will do. */
  readonly since: number
}

/** What an asker holds meanwhile. */
export interface Asked {
  readonly abandon: () => void
  /** Frees the answer; absent where others may have it too. */
  readonly release?: () => void
}

/** An answer that others may still take. */
interface Kept {
  readonly began: number
  readonly ended: number
  readonly status: number
  readonly headers: AnswerHeaders
  readonly body: Buffer
}

/** Milliseconds for which an answer is kept, answers, and bytes of all their bodies; at most. */
const keptFor = 10_000
const mostKept = 256
const mostBytes = 16 * 1024 * 1024

/** Calls `answer` once the asker holds what it may abandon: it may ask again in its turn, and holds that instead from then on. */
const soon = (answer: () => void): Asked => {
  let wanted = true
  queueMicrotask(() => {
    if (wanted) answer()
  })
  return { abandon: () => wanted = false }
}

/**
 * Exchanges for askers who want the same at the same time: fragments of one page, and topics whose redirects lead to one URL.
 *
 * Who comes while it is under way hears the rest of it, who comes up to ten seconds later gets the answer, as long as it is new enough for him.
 * Nothing is shared of requests with credentials: those differ in their headers.
 */
export class CoalescedFetches {
  readonly #origins: ConnectionPools
  readonly #now: () => number
  readonly #underWay = new Map<string, CoalescedFetch>()
  /** The oldest first. */
  readonly #kept = new Map<string, Kept>()
  #bytes = 0

  constructor(origins: ConnectionPools, now: () => number) {
    this.#origins = origins
    this.#now = now
  }

  /** All askers of a URL read as much of an answer, and know nothing that the others may not. */
  ask({ headers, since, url }: SharedCall, asker: ResponseHandler): Asked {
    const key = [url.href, ...headers].join("\n")
    const kept = this.#kept.get(key)
    if (kept !== undefined && kept.began >= since && this.#now() - kept.ended <= keptFor) {
      return soon(() => {
        asker.answered(kept.status, kept.headers)
        asker.ended(kept.body)
      })
    }
    const underWay = this.#underWay.get(key)
    if (underWay !== undefined && underWay.began >= since) return underWay.join(asker)
    const shared = new CoalescedFetch(this.#now(), () => {
      if (this.#underWay.get(key) === shared) this.#underWay.delete(key)
    }, (answer) => this.#keep(key, { ...answer, ended: this.#now() }))
    this.#underWay.set(key, shared)
    const asked = shared.join(asker)
    shared.start(new HttpExchange(this.#origins, { url, method: "GET", headers }, shared))
    return asked
  }

  #keep(key: string, answer: Kept): void {
    this.#drop(key)
    if (answer.body.length > mostBytes / 4) return
    this.#kept.set(key, answer)
    this.#bytes += answer.body.length
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= mostKept && this.#bytes <= mostBytes) return
      this.#drop(oldest)
    }
  }

  #drop(key: string): void {
    this.#bytes -= this.#kept.get(key)?.body.length ?? 0
    this.#kept.delete(key)
  }
}

/** One exchange and all who wait for it. */
class CoalescedFetch implements ResponseHandler {
  readonly began: number
  readonly #over: () => void
  readonly #keep: (answer: Omit<Kept, "ended">) => void
  readonly #askers = new Set<ResponseHandler>()
  #exchange: HttpExchange | undefined
  #limit: BodyLimit = { bytes: 0, beyond: "cut" }
  #answer: { readonly status: number; readonly headers: AnswerHeaders } | undefined

  constructor(began: number, over: () => void, keep: (answer: Omit<Kept, "ended">) => void) {
    this.began = began
    this.#over = over
    this.#keep = keep
  }

  start(exchange: HttpExchange): void {
    this.#exchange = exchange
    exchange.start()
  }

  join(asker: ResponseHandler): Asked {
    this.#askers.add(asker)
    if (this.#answer !== undefined) asker.answered(this.#answer.status, this.#answer.headers)
    return { abandon: () => this.#leave(asker) }
  }

  answered(status: number, headers: AnswerHeaders): BodyLimit {
    this.#answer = { status, headers }
    for (const asker of this.#askers) this.#limit = asker.answered(status, headers)
    return this.#limit
  }

  ended(body: Buffer): void {
    this.#over()
    if (this.#answer !== undefined) this.#keep({ ...this.#answer, began: this.began, body })
    for (const asker of this.#askers) asker.ended(body)
  }

  failed(failure: NetworkError): void {
    this.#over()
    for (const asker of this.#askers) asker.failed(failure)
  }

  tooLarge(limit: number): void {
    this.#over()
    for (const asker of this.#askers) asker.tooLarge(limit)
  }

  /** The last one to go closes the connection. */
  #leave(asker: ResponseHandler): void {
    if (!this.#askers.delete(asker) || this.#askers.size > 0) return
    this.#over()
    this.#exchange?.abandon()
  }
}
