import { Deferred, Effect, type Latch } from "effect"
import { BoundedMap } from "#domain/collections/BoundedMap.ts"

/**
 * Result of a delivery.
 *
 * `accepted`: the server has the messages. `unavailable`: the messages were not sent, or the result is unknown. `lease-lost`: the messages
 * were not sent, because the sender may no longer send. `poison`: the server names the messages as the reason for closing the stream.
 */
export type SendResult = "accepted" | "unavailable" | "lease-lost" | "poison"

/**
 * End of a connection, as seen by the deliveries in flight.
 *
 * `rejected`: the server closed the stream with an error about a stanza. `policy`: the server closed the stream for its policy, which may
 * be the size of a stanza or a limit on the rate. `lost`: any other end.
 */
export type StreamEnd = "rejected" | "policy" | "lost"

/** A delivery in the queue: all its messages, and the result for its sender. */
interface QueuedDelivery {
  readonly id: string
  readonly messages: ReadonlyArray<string>
  readonly size: number
  /** False when the sender may no longer send, because another runner may own its partition. */
  readonly isHeld: () => boolean
  readonly result: Deferred.Deferred<SendResult>
  /** True after the interruption of the sender. */
  abandoned: boolean
}

/** Memory of a delivery that was in flight when a connection ended. */
interface Suspicion {
  /** Number of times that the server closed the stream for a stanza, or for its policy while the delivery was alone in flight. */
  readonly rejections: number
  /** Number of times that the connection was lost, while the delivery was alone in flight. */
  readonly losses: number
  /** Earliest time of the next attempt, epoch ms. */
  readonly resumesAt: number
}

/** Maximum of messages in a batch. A broken connection repeats at most one batch. */
const maxBatchMessages = 32

/** Maximum of characters in a batch, unless a single delivery has more. */
const maxBatchSize = 1024 * 1024

/** Maximum of waiting deliveries, and of the characters in all of them. */
const maxWaiting = 10_000
const maxWaitingSize = 64 * 1024 * 1024

/** Maximum of rejections. A delivery that was alone in flight at the last one is poison. */
const maxRejections: { readonly [end in StreamEnd]: number } = { rejected: 2, policy: 5, lost: Infinity }

/** Losses of a delivery that was alone in flight, from which on the delivery returns to the outbox after each loss. */
const maxLossesInQueue = 2

/** Pauses of a delivery that returned to the outbox: 15 s, doubled with each return, at most 10 min. */
const minPauseMs = 15_000
const maxPauseMs = 600_000

/** Maximum of remembered ids of poisonous and of suspected deliveries. */
const maxPoisonIds = 1_000
const maxSuspicions = 10_000

const noSuspicion: Suspicion = { rejections: 0, losses: 0, resumesAt: 0 }

const isAlwaysHeld = () => true

/**
 * Queue of deliveries to the server.
 *
 *   send ──► waiting ──takeBatch──► in flight ──confirm──► accepted
 *               ▲                       │
 *               └────── requeue ◄───────┘   the connection broke: these deliveries go first, and alone
 *                          │
 *                          └──► unavailable   lost again alone: back to the outbox, with growing pauses
 *
 * All subscribers share one stream, and a server closes the stream at the first stanza that it cannot read. After such an end, each
 * delivery of the batch is sent alone. A delivery is dropped only when the server again names an error of a stanza. A lost connection
 * has other causes mostly, such as a proxy or the network, so the delivery is kept. Pauses limit the attempts, because each one stops the other deliveries.
 */
export class OutgoingQueue {
  readonly #waiting = new Set<QueuedDelivery>()
  readonly #poison = new BoundedMap<string, true>(maxPoisonIds)
  readonly #suspicions = new BoundedMap<string, Suspicion>(maxSuspicions)
  #inFlight: ReadonlyArray<QueuedDelivery> = []
  #size = 0
  #closed = false

  /** Open while a delivery waits. */
  readonly #work: Latch.Latch

  constructor(work: Latch.Latch) {
    this.#work = work
  }

  /**
   * Enqueues a delivery and returns its result. An interruption removes the delivery, unless its messages are in flight.
   *
   * `now` is in epoch ms. A delivery whose `isHeld` is false at its turn is not sent.
   */
  send(
    id: string,
    messages: ReadonlyArray<string>,
    now: number,
    isHeld: () => boolean = isAlwaysHeld
  ): Effect.Effect<SendResult> {
    return Effect.suspend(() => {
      if (this.#poison.has(id)) return Effect.succeed<SendResult>("poison")
      const size = messages.reduce((sum, { length }) => sum + length, 0)
      const isFull = this.#waiting.size >= maxWaiting || this.#size + size > maxWaitingSize
      if (this.#closed || isFull || now < (this.#suspicions.get(id)?.resumesAt ?? 0)) {
        return Effect.succeed<SendResult>("unavailable")
      }
      const delivery: QueuedDelivery = { id, messages, size, isHeld, result: Deferred.makeUnsafe(), abandoned: false }
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

  /** Takes the messages of the next batch, which are in flight from now on. Ends deliveries whose lease is lost. */
  takeBatch(): ReadonlyArray<string> {
    const batch: Array<QueuedDelivery> = []
    const withoutLease: Array<QueuedDelivery> = []
    let count = 0
    let size = 0
    for (const delivery of this.#waiting) {
      if (!delivery.isHeld()) {
        withoutLease.push(delivery)
        continue
      }
      const isSuspect = this.#suspicions.has(delivery.id)
      const isFull = count + delivery.messages.length > maxBatchMessages || size + delivery.size > maxBatchSize
      if (batch.length > 0 && (isSuspect || isFull)) break
      batch.push(delivery)
      count += delivery.messages.length
      size += delivery.size
      if (isSuspect) break
    }
    for (const delivery of batch) this.#remove(delivery)
    for (const delivery of withoutLease) this.#remove(delivery)
    for (const { result } of withoutLease) Deferred.doneUnsafe(result, Effect.succeed("lease-lost"))
    this.#inFlight = batch
    return batch.flatMap(({ messages }) => messages)
  }

  /**
   * The server has read the messages in flight. Returns the function that tells their senders, which resume at once: the next batch can leave
   * before they take the time of this thread. Both belong into one step, because an interruption in between would lose the results.
   */
  accept(): () => void {
    const accepted = this.#inFlight
    this.#inFlight = []
    for (const { id } of accepted) this.#suspicions.delete(id)
    return () => {
      for (const { result } of accepted) Deferred.doneUnsafe(result, Effect.succeed("accepted"))
    }
  }

  get hasWork(): boolean {
    return this.#waiting.size > 0
  }

  /**
   * Puts the deliveries in flight back to the front after a broken connection.
   *
   * A delivery that was lost alone for the second time returns to the outbox. Returns the ids of dropped deliveries.
   */
  requeue(end: StreamEnd, now: number): ReadonlyArray<string> {
    const interrupted = this.#inFlight
    const wasAlone = interrupted.length === 1
    this.#inFlight = []
    const retried: Array<QueuedDelivery> = []
    const dropped: Array<QueuedDelivery> = []
    const returned: Array<QueuedDelivery> = []
    for (const delivery of interrupted) {
      if (delivery.abandoned) continue
      const suspicion = suspect(this.#suspicions.get(delivery.id), wasAlone, end, now)
      this.#suspicions.set(delivery.id, suspicion)
      if (wasAlone && suspicion.rejections >= maxRejections[end]) dropped.push(delivery)
      else if (suspicion.resumesAt > now) returned.push(delivery)
      else retried.push(delivery)
    }
    const rest = [...this.#waiting]
    this.#waiting.clear()
    for (const delivery of retried) this.#size += delivery.size
    for (const delivery of [...retried, ...rest]) this.#waiting.add(delivery)
    for (const { result } of returned) Deferred.doneUnsafe(result, Effect.succeed("unavailable"))
    for (const { id, result } of dropped) {
      this.#suspicions.delete(id)
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

/** The suspicion after another end of the connection. Pauses are for deliveries that were alone in flight. */
const suspect = (
  { losses, rejections }: Suspicion = noSuspicion,
  wasAlone: boolean,
  end: StreamEnd,
  now: number
): Suspicion => {
  const next = {
    losses: losses + (wasAlone && end === "lost" ? 1 : 0),
    rejections: rejections + (end === "rejected" || (wasAlone && end === "policy") ? 1 : 0)
  }
  const returns = end === "policy" ? next.rejections : end === "lost" ? next.losses - maxLossesInQueue + 1 : 0
  const pauseMs = wasAlone && returns > 0 ? Math.min(minPauseMs * 2 ** (returns - 1), maxPauseMs) : 0
  return { ...next, resumesAt: now + pauseMs }
}
