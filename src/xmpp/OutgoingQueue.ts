import { Deferred, Effect, type Latch } from "effect"

/** What became of a delivery. `away`: it was not sent, or nobody knows; `poison`: the server does not bear it. */
export type SendResult = "taken" | "away" | "poison"

/** A delivery: all its messages, and whoever waits for its fate. */
interface Job {
  readonly id: string
  readonly messages: ReadonlyArray<string>
  readonly size: number
  readonly fate: Deferred.Deferred<SendResult>
  /** Streams that ended while it was on its way: by a server that blamed us, and for no reason that was told. */
  blamed: number
  lost: number
  /** Nobody waits for it any more. */
  abandoned: boolean
}

/** Messages of one batch, at most: so many may be sent twice when a connection breaks. */
const maxBatch = 32

/** Characters of one batch, at most, unless one delivery alone has more. */
const maxBatchSize = 1024 * 1024

/** Deliveries, and characters in them, that wait, at most. */
const maxJobs = 10_000
const maxSize = 64 * 1024 * 1024

/** A delivery that was alone on its way is poison when the server blamed it so often, all in all, … */
const maxBlamed = 2

/** … or when the stream ended so often without a word. */
const maxLost = 5

/** Deliveries that are known to be poison, at most. */
const maxPoison = 1_000

/**
 * Deliveries on their way to the server.
 *
 *   add ──► waiting ──batch──► under way ──confirm──► taken
 *              ▲                   │
 *              └────── lost ◄──────┘   the connection broke: they go first, and alone if they may be the reason
 *
 * A stream is shared by all subscribers, and a server closes it at the first stanza that it cannot read. So what was under way then is
 * sent one by one, and the one that closes the stream again is given up.
 */
export class OutgoingQueue {
  readonly #waiting = new Set<Job>()
  readonly #poison = new Set<string>()
  #underWay: ReadonlyArray<Job> = []
  #size = 0
  #ended = false

  /** Open while something waits. */
  readonly #work: Latch.Latch

  constructor(work: Latch.Latch) {
    this.#work = work
  }

  /** Waits for the fate of a delivery. Whoever is interrupted takes it back, if it is not under way. */
  send(id: string, messages: ReadonlyArray<string>): Effect.Effect<SendResult> {
    return Effect.suspend(() => {
      if (this.#poison.has(id)) return Effect.succeed<SendResult>("poison")
      const size = messages.reduce((sum, { length }) => sum + length, 0)
      if (this.#ended || this.#waiting.size >= maxJobs || this.#size + size > maxSize) {
        return Effect.succeed<SendResult>("away")
      }
      const job: Job = { id, messages, size, fate: Deferred.makeUnsafe(), blamed: 0, lost: 0, abandoned: false }
      this.#waiting.add(job)
      this.#size += size
      return Effect.andThen(this.#work.open, Deferred.await(job.fate)).pipe(
        Effect.onInterrupt(() => Effect.sync(() => this.#abandon(job)))
      )
    })
  }

  /** Returns as soon as something waits. */
  get some(): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.#waiting.size > 0) return Effect.void
      this.#work.closeUnsafe() // in one step with the look: nobody may come between them
      return this.#work.await
    })
  }

  /** The next messages, which are under way from now on. */
  batch(): ReadonlyArray<string> {
    const batch: Array<Job> = []
    let count = 0
    let size = 0
    for (const job of this.#waiting) {
      const suspect = job.blamed > 0 || job.lost > 0
      const full = count + job.messages.length > maxBatch || size + job.size > maxBatchSize
      if (batch.length > 0 && (suspect || full)) break
      batch.push(job)
      count += job.messages.length
      size += job.size
      if (suspect) break
    }
    for (const job of batch) this.#leave(job)
    this.#underWay = batch
    return batch.flatMap(({ messages }) => messages)
  }

  /** The server has taken over what was under way. */
  confirm(): void {
    const taken = this.#underWay
    this.#underWay = [] // first: whoever waits goes on at once
    for (const { fate } of taken) Deferred.doneUnsafe(fate, Effect.succeed("taken"))
  }

  /** The connection broke. Returns the ids of deliveries that are given up. */
  lost(blamed: boolean): ReadonlyArray<string> {
    const lost = this.#underWay
    const alone = lost.length === 1
    const back: Array<Job> = []
    const poison: Array<Job> = []
    for (const job of lost) {
      if (job.abandoned) continue
      if (blamed) job.blamed++
      else job.lost++
      if (alone && (job.blamed >= maxBlamed || job.lost >= maxLost)) poison.push(job)
      else back.push(job)
    }
    this.#underWay = []
    const behind = [...this.#waiting]
    this.#waiting.clear()
    for (const job of back) this.#size += job.size
    for (const job of [...back, ...behind]) this.#waiting.add(job)
    for (const job of poison) this.#condemn(job)
    return poison.map(({ id }) => id)
  }

  /** Nothing is sent for now: whoever waits is told. */
  away(): void {
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    this.#size = 0
    for (const { fate } of waiting) Deferred.doneUnsafe(fate, Effect.succeed("away"))
  }

  /** Nothing will be sent any more: nobody knows what became of what is under way. */
  end(): void {
    this.#ended = true
    const underWay = this.#underWay
    this.#underWay = []
    for (const { fate } of underWay) Deferred.doneUnsafe(fate, Effect.succeed("away"))
    this.away()
  }

  #abandon(job: Job): void {
    job.abandoned = true
    this.#leave(job)
  }

  #leave(job: Job): void {
    if (this.#waiting.delete(job)) this.#size -= job.size
  }

  #condemn({ fate, id }: Job): void {
    this.#poison.add(id)
    Deferred.doneUnsafe(fate, Effect.succeed("poison"))
    for (const oldest of this.#poison) {
      if (this.#poison.size <= maxPoison) break
      this.#poison.delete(oldest)
    }
  }
}
