import { Effect, Queue } from "effect"
import { Settings } from "#domain/ports/Settings.ts"
import { type ClaimedVerification, type VerificationLane, VerificationQueue } from "#domain/ports/VerificationQueue.ts"
import { warnOfStoreError } from "#domain/ports/StoreError.ts"
import type { IntentVerification } from "./IntentVerification.ts"
import { makeRecordDenial } from "./RecordDenial.ts"

/** Concurrent verifications by lane. A hanging callback takes one of them for 10 s, and so slows its own lane only. */
const maxConcurrent: { readonly [lane in VerificationLane]: number } = { new: 128, confirmed: 64, api: 64 }

/** Concurrent verifications of unknown callbacks from which further ones are brief, so that silent callbacks pass quickly. */
const maxPatient = 16

/** Interval between looks at the queue without a wake-up: finds delayed verifications, and those of a dead runner. */
const pollInterval = "2 seconds"

/** `round` of the worker: waits for a wake-up, then starts the due verifications of each lane. */
export const makeVerificationRound = Effect.fnUntraced(function*(
  verify: IntentVerification["Service"]["verify"],
  wakeups: Queue.Queue<void>
) {
  const queue = yield* VerificationQueue
  const { hubQuestionsPerMinute: perMinute } = yield* Settings
  const scope = yield* Effect.scope
  const process = yield* makeProcess(verify, Effect.asVoid(Queue.offer(wakeups, undefined)))
  const running = { new: 0, confirmed: 0, api: 0 }

  const start = (lane: VerificationLane, claimed: ClaimedVerification) =>
    Effect.suspend(() => {
      running[lane]++
      return process(claimed, lane === "new" && running.new > maxPatient).pipe(
        Effect.catchCause((cause) => Effect.logError("A verification crashed; its claim expires in 60 s.", cause)),
        Effect.ensuring(Effect.sync(() => void running[lane]--)),
        Effect.forkIn(scope)
      )
    })

  const startDue = Effect.fnUntraced(function*(lane: VerificationLane, perMinute: number | undefined) {
    const limit = maxConcurrent[lane] - running[lane]
    if (limit <= 0) return
    const claimed = yield* queue.claim({ lane, limit, perMinute })
    yield* Effect.forEach(claimed, (one) => start(lane, one), { discard: true })
  })

  const round = Effect.gen(function*() {
    yield* Effect.timeoutOption(Queue.take(wakeups), pollInterval)
    yield* startDue("api", undefined)
    yield* startDue("confirmed", perMinute)
    yield* startDue("new", perMinute)
  }).pipe(
    Effect.catchTag(
      "StoreError",
      (error) =>
        Effect.andThen(
          warnOfStoreError("Verifications wait for the database; retrying in 2 s.")(error),
          Effect.sleep(pollInterval)
        )
    )
  )
  return { round }
})

/** Verifies one row, logs a refused subscribe, and settles or denies the row. */
const makeProcess = Effect.fnUntraced(function*(
  verify: IntentVerification["Service"]["verify"],
  wake: Effect.Effect<void>
) {
  const queue = yield* VerificationQueue
  const recordDenial = yield* makeRecordDenial

  /** While the database is unavailable, the row is neither settled nor denied. Its claim expires, and it is verified again. */
  return Effect.fnUntraced(
    function*(claimed: ClaimedVerification, isBrief: boolean) {
      const { mode, subscription } = claimed.verification
      const refusal = yield* verify(claimed.verification, isBrief).pipe(
        Effect.as(undefined),
        Effect.catchTag("Refusal", Effect.succeed)
      )
      if (refusal?.reason._tag === "Unavailable") return
      if (refusal !== undefined) {
        const { host, topic } = subscription
        // hosts only: URLs of callbacks and topics may hold credentials
        yield* Effect.logInfo("A callback did not confirm its subscription.").pipe(
          Effect.annotateLogs({ mode, callbackHost: host, topicHost: topic.host })
        )
        if (mode === "subscribe") yield* recordDenial(subscription, refusal)
      }
      yield* refusal !== undefined && mode === "subscribe" && subscription.face === "hub"
        ? queue.deny(claimed, refusal.message)
        : queue.settle(claimed)
      yield* wake
    },
    Effect.catchTag(
      "StoreError",
      warnOfStoreError("A verification is not settled; its claim expires in 60 s.")
    )
  )
})
