import type { BodyRoom } from "./Body.ts"
import { type Gap, type Retrieved, toGap } from "./Gap.ts"
import { type AllowedTopics, answerIntent, type Denial } from "./Intent.ts"
import { MemoryStore } from "./MemoryStore.ts"
import type { Notification } from "./Notification.ts"
import { ReceiverError } from "./ReceiverError.ts"
import { checkSecretSource } from "./Secrets.ts"
import { findPlace, passOver, remember } from "./Sequence.ts"
import type { Store, SubscriptionState } from "./Store.ts"
import { Turns } from "./Turns.ts"
import { type VerifyOptions, verifyWithin } from "./VerifyRequest.ts"

export interface ReceiverOptions extends VerifyOptions {
  /**
   * Called once for each notification, in order within a subscription. When the call fails, Windhover sends the notification again.
   *
   * Windhover waits 10 s for the response: store the notification, and leave long work to a queue of yours.
   */
  readonly onNotification: (notification: Notification) => void | Promise<void>
  /** Called for a test of Windhover. Default: `onNotification`, with `notification.test`. Tests have no order and count for no gap. */
  readonly onTest?: (notification: Notification) => void | Promise<void>
  /**
   * Called for missing sequences, before the notification behind them. Returned notifications are handled first; a failure postpones all of
   * them to the next attempt. Without this option, a gap is a warning on the console.
   */
  readonly onGap?: (gap: Gap) => Retrieved | void | Promise<Retrieved | void>
  /** Topics to which this callback agrees when a hub verifies a subscription. Default: none. */
  readonly topics?: AllowedTopics
  /** Called when a hub refuses or ends a subscription. */
  readonly onDenied?: (denial: Denial) => void | Promise<void>
  /** Called with errors of the handlers and the store. Default: `console.error`. */
  readonly onError?: (error: unknown) => void
  /** Remembers the handled notifications. Default: in memory. */
  readonly store?: Store
  /** True: the numbers of an unknown subscription begin at 1. Default false: at the first notification that arrives. */
  readonly expectsFirst?: boolean
  /** Time that a notification waits for missing ones before `onGap`, in ms. Default 0; at most 8,000. For queues that reorder. */
  readonly reorderMs?: number
  /** Bytes of all bodies at the same time. Default 64 MiB. Further requests get 503. */
  readonly maxBufferedBytes?: number
}

export interface Receiver {
  /** Answers a request: 204 for a handled notification and for a repetition, 200 for a test and for a verification of intent. */
  readonly fetch: (request: Request) => Promise<Response>
  /** Handles a notification that was verified or retrieved elsewhere: once, in order, after the notifications of its gap. */
  readonly handle: (notification: Notification) => Promise<void>
}

const defaultMaxBufferedBytes = 64 * 1024 * 1024

/** Less than the 10 s that Windhover waits for a response. */
const maxReorderMs = 8_000

/** Requests of one subscription that wait for each other. Windhover sends one at a time. */
const maxWaiting = 256

/** Makes a receiver. Its `fetch` fits Hono, Next, workers, Deno and Bun as it is. */
export const createReceiver = (options: ReceiverOptions): Receiver => {
  checkSecretSource(options.secret)
  if (typeof options.onNotification !== "function") {
    throw new TypeError("`onNotification` is missing: a function that takes each notification.")
  }
  const reorderMs = options.reorderMs ?? 0
  if (!(reorderMs >= 0 && reorderMs <= maxReorderMs)) {
    throw new TypeError(`\`reorderMs\` is 0 to ${maxReorderMs}, because Windhover waits 10 s for a response.`)
  }
  const room: BodyRoom = { maxBytes: options.maxBufferedBytes ?? defaultMaxBufferedBytes, used: 0 }
  const inbox = new Inbox(options, reorderMs)
  return {
    fetch: async (request) => {
      try {
        return await respond(request, options, room, inbox)
      } catch (error) {
        if (error instanceof ReceiverError) return refuse(error)
        reportError(options, error)
        return text(500, "The notification could not be handled. Send it again.")
      }
    },
    handle: (notification) => inbox.handle(notification)
  }
}

const respond = async (
  request: Request,
  options: ReceiverOptions,
  room: BodyRoom,
  inbox: Inbox
): Promise<Response> => {
  if (request.method === "GET") return text(200, await answerIntent(request.url, options.topics, options.onDenied))
  if (request.method !== "POST") {
    throw new ReceiverError("wrong-method", "This callback takes GET for verifications and POST for notifications.")
  }
  const { notification, release } = await verifyWithin(request, options, room)
  try {
    await inbox.handle(notification)
    return notification.test === true ? text(200, "The test was received.") : new Response(null, { status: 204 })
  } finally {
    release()
  }
}

const refuse = ({ code, message, status }: ReceiverError): Response =>
  text(status, message, {
    ...(code === "busy" ? { "retry-after": "1" } : {}),
    ...(code === "wrong-method" ? { allow: "GET, POST" } : {})
  })

const text = (status: number, body: string, headers: Record<string, string> = {}): Response =>
  new Response(body, {
    status,
    // plain text and no sniffing, because the challenge is a stranger's text
    headers: { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff", ...headers }
  })

const reportError = ({ onError }: ReceiverOptions, error: unknown): void => {
  if (onError === undefined) console.error("Windhover's notification could not be handled:", error)
  else onError(error)
}

/** Passes notifications to the handler: once, in the order of their sequence. */
class Inbox {
  private readonly options: ReceiverOptions
  private readonly reorderMs: number
  private readonly store: Store
  private readonly turns = new Turns()

  constructor(options: ReceiverOptions, reorderMs: number) {
    this.options = options
    this.reorderMs = reorderMs
    this.store = options.store ?? new MemoryStore()
  }

  async handle(notification: Notification): Promise<void> {
    const { id, subscription = "", test, topic } = notification
    if (test === true) return await (this.options.onTest ?? this.options.onNotification)(notification)
    if (id === undefined) return await this.options.onNotification(notification)
    const key = `${subscription} ${topic.slice(0, 2_500)}`
    if (this.turns.countOf(key) >= maxWaiting) {
      throw new ReceiverError("busy", "Too many notifications of the subscription arrive at once. Try again.")
    }
    const until = Date.now() + this.reorderMs
    const waiting = this.turns.wait(key, notification.sequence)
    try {
      while (true) {
        const result = await this.turns.run(
          key,
          () => this.lock(key, () => this.take(key, id, notification, until - Date.now()))
        )
        if (result === "handled") return
        await result.progress
      }
    } finally {
      waiting.end()
    }
  }

  private lock<A>(key: string, run: () => Promise<A>): Promise<A> {
    return this.store.lock === undefined ? run() : this.store.lock(key, run)
  }

  /** Returns `progress` when numbers are missing before the notification that may arrive within `waitMs`. */
  private async take(
    key: string,
    id: string,
    notification: Notification,
    waitMs: number
  ): Promise<"handled" | { readonly progress: Promise<void> }> {
    const { sequence } = notification
    let state = await this.store.load(key)
    const place = findPlace(state, id, sequence, this.options.expectsFirst ?? false)
    if (place._tag === "Duplicate") return "handled"
    if (place._tag === "Gap") {
      // a missing number may be here already, and wait for its own turn
      const last = Math.min(place.last, this.turns.lowestWaiting(key, place.first) - 1)
      if (waitMs > 0) return { progress: this.turns.sleep(key, waitMs) }
      if (last >= place.first) state = await this.fillGap(key, state, toGap(notification, place.first, last))
      if (last < place.last) return { progress: this.turns.sleep(key, maxReorderMs) }
    }
    await this.options.onNotification(notification)
    await this.store.save(key, remember(state, id, sequence, place._tag === "Restart"))
    return "handled"
  }

  /** Handles the retrieved notifications of a gap. Their order is checked, and repetitions are left out. */
  private async fillGap(
    key: string,
    before: SubscriptionState | undefined,
    gap: Gap
  ): Promise<SubscriptionState> {
    let state = before
    for await (const found of await this.askForGap(gap) ?? []) {
      const { id, sequence } = found
      if (id === undefined || sequence === undefined || sequence > gap.last) continue
      if (sequence <= (state?.last ?? gap.first - 1)) continue
      await this.options.onNotification(found)
      state = remember(state, id, sequence)
      await this.store.save(key, state)
    }
    const passed = passOver(state, gap.last)
    await this.store.save(key, passed)
    return passed
  }

  private async askForGap(gap: Gap): Promise<Retrieved | void> {
    if (this.options.onGap !== undefined) return await this.options.onGap(gap)
    console.warn(
      `Windhover's notifications ${gap.first} to ${gap.last} of ${gap.topic} are missing. \`onGap\` can retrieve them.`
    )
  }
}
