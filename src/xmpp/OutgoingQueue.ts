import { Deferred, Effect, type Latch } from "effect"
import { BoundedMap } from "#domain/collections/BoundedMap.ts"

/**
 * Result of a delivery.
 *
 * `accepted`: the server has the messages. `unavailable`: the messages were not sent, or the result is unknown.
 * `poison`: the messages make the server close the stream.
 */
export type SendResult = "accepted" | "unavailable" | "poison"

/** A delivery in the queue: all its messages, and the result for its sender. */
interface QueuedDelivery {
  readonly id: string
  readonly messages: ReadonlyArray<string>
  readonly size: number
  readonly result: Deferred.Deferred<SendResult>
  /** Number of times that the server closed the stream with an error about a stanza, while the delivery was in flight. */
  rejections: number
  /** Number of times that the stream ended for another reason, while the delivery was in flight. */
  losses: number
  /** True after the interruption of the sender. */
  abandoned: boolean
}

/** Maximum of messages in a batch. A broken connection repeats at most one batch. */
const maxBatchMessages = 32

/** Maximum of characters in a batch, unless a single delivery has more. */
const maxBatchSize = 1024 * 1024

/** Maximum of waiting deliveries, and of the characters in all of them. */
const maxWaiting = 10_000
const maxWaitingSize = 64 * 1024 * 1024

/** Rejections and losses of a delivery that was alone in flight. At either maximum the delivery is poison. */
const maxRejections = 2
const maxLosses = 5

/** Maximum of remembered ids of poisonous deliveries. */
const maxPoisonIds = 1_000

/**
 * Queue of deliveries to the server.
 *
 *   send ──► waiting ──takeBatch──► in flight ──confirm──► accepted
 *               ▲                       │
 *               └────── requeue ◄───────┘   the connection broke: these deliveries go first, and alone
 *
 * All subscribers share one stream, and a server closes the stream at the first stanza that it cannot read. After such an end, each
 * delivery of the batch is sent alone. A delivery that closes the stream again is dropped.
 */
export class OutgoingQueue {
  readonly #waiting = new Set<QueuedDelivery>()
  readonly #poison = new BoundedMap<string, true>(maxPoisonIds)
  #inFlight: ReadonlyArray<QueuedDelivery> = []
  #size = 0
  #closed = false

  /** Open while a delivery waits. */
  readonly #work: Latch.Latch

  constructor(work: Latch.Latch) {
    this.#work = work
  }

  /** Enqueues a delivery and returns its result. An interruption removes the delivery, unless its messages are in flight. */
  send(id: string, messages: ReadonlyArray<string>): Effect.Effect<SendResult> {
    return Effect.suspend(() => {
      if (this.#poison.has(id)) return Effect.succeed<SendResult>("poison")
      const size = messages.reduce((sum, { length }) => sum + length, 0)
      if (this.#closed || this.#waiting.size >= maxWaiting || this.#size + size > maxWaitingSize) {
        return Effect.succeed<SendResult>("unavailable")
      }
      const delivery: QueuedDelivery = {
        id,
        messages,
        size,
        result: Deferred.makeUnsafe(),
        rejections: 0,
        losses: 0,
        abandoned: false
      }
      this.#waiting.add(delivery)
      this.#size += size
      return Effect.andThen(this.#work.open, Deferred.await(delivery.result)).pipe(
        Effect.onInterrupt(() => Effect.sync(() => this.#abandon(delivery)))
      )
    })
  }

  /** Returns as soon as a delivery waits. */
  get awaitWork(): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.#waiting.size > 0) return Effect.void
      this.#work.closeUnsafe() // in the same step as the check, so that no delivery arrives in between
      return this.#work.await
    })
  }

  /** Takes the messages of the next batch, which are in flight from now on. */
  takeBatch(): ReadonlyArray<string> {
    const batch: Array<QueuedDelivery> = []
    let count = 0
    let size = 0
    for (const delivery of this.#waiting) {
      const isSuspect = delivery.rejections > 0 || delivery.losses > 0
      const isFull = count + delivery.messages.length > maxBatchMessages || size + delivery.size > maxBatchSize
      if (batch.length > 0 && (isSuspect || isFull)) break
      batch.push(delivery)
      count += delivery.messages.length
      size += delivery.size
      if (isSuspect) break
    }
    for (const delivery of batch) this.#remove(delivery)
    this.#inFlight = batch
    return batch.flatMap(({ messages }) => messages)
  }

  /** The server has read the messages in flight. */
  confirm(): void {
    const accepted = this.#inFlight
    this.#inFlight = [] // before the senders resume
    for (const { result } of accepted) Deferred.doneUnsafe(result, Effect.succeed("accepted"))
  }

  /** Puts the deliveries in flight back to the front after a broken connection. Returns the ids of dropped deliveries. */
  requeue(wasRejected: boolean): ReadonlyArray<string> {
    const interrupted = this.#inFlight
    const wasAlone = interrupted.length === 1
    const retried: Array<QueuedDelivery> = []
    const dropped: Array<QueuedDelivery> = []
    for (const delivery of interrupted) {
      if (delivery.abandoned) continue
      if (wasRejected) delivery.rejections++
      else delivery.losses++
      if (wasAlone && (delivery.rejections >= maxRejections || delivery.losses >= maxLosses)) dropped.push(delivery)
      else retried.push(delivery)
    }
    this.#inFlight = []
    const rest = [...this.#waiting]
    this.#waiting.clear()
    for (const delivery of retried) this.#size += delivery.size
    for (const delivery of [...retried, ...rest]) this.#waiting.add(delivery)
    for (const { id, result } of dropped) {
      this.#poison.set(id, true)
      Deferred.doneUnsafe(result, Effect.succeed("poison"))
    }
    return dropped.map(({ id }) => id)
  }

  /** Ends all waiting deliveries with `unavailable`. */
  failWaiting(): void {
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    this.#size = 0
    for (const { result } of waiting) Deferred.doneUnsafe(result, Effect.succeed("unavailable"))
  }

  /** Ends all deliveries with `unavailable`, also later ones. The result of messages in flight is unknown. */
  close(): void {
    this.#closed = true
    const inFlight = this.#inFlight
    this.#inFlight = []
    for (const { result } of inFlight) Deferred.doneUnsafe(result, Effect.succeed("unavailable"))
    this.failWaiting()
  }

  #abandon(delivery: QueuedDelivery): void {
    delivery.abandoned = true
    this.#remove(delivery)
  }

  #remove(delivery: QueuedDelivery): void {
    if (this.#waiting.delete(delivery)) this.#size -= delivery.size
  }
}
