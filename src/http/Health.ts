import { Clock, Effect, Option } from "effect"
import { Hub } from "#actors/operations/Hub.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { WriteFailure, type WriteFailureReason } from "#domain/ports/StoreError.ts"
import { WriteProbe } from "#domain/ports/WriteProbe.ts"
import * as Reply from "./Reply.ts"

/** Time that a health check waits for the database. */
const queryTimeout = "2 seconds"

/**
 * Time without an answer after which the database counts as down. During maintenance the embedded database answers no query, and
 * long queries may hold all connections. Taking such a runner out would move its load to the other runners.
 */
const maxSilenceMs = 10_000

const writeFailureSentences: { readonly [reason in WriteFailureReason]: string } = {
  full: "The disk of the database is full; nothing can be written.",
  "read-only": "The database is read-only; nothing can be written."
}

const unhealthy = (sentence: string) => Reply.text(503, sentence, { "retry-after": "5" })

const healthy = Reply.text(200, "ok")
const databaseDown = unhealthy("The database does not answer.")
const starting = Reply.text(503, "Some partitions are not awake yet.", { "retry-after": "1" })

/** Measures how long the database has answered no health check. Times are epoch ms. */
class SilenceTimer {
  #since: number | undefined
  #answeredAt = -Infinity

  reset(now: number): void {
    this.#since = undefined
    this.#answeredAt = now
  }

  /** True when the silence is too long. A check that started before the last answer does not count. */
  isTooLong(startedAt: number, now: number): boolean {
    if (startedAt <= this.#answeredAt) return false
    this.#since ??= startedAt
    return now - this.#since >= maxSilenceMs
  }
}

/** Endpoints for load balancers and monitoring, without credentials and details. */
export const makeHealth = Effect.gen(function*() {
  const accounts = yield* AccountStore
  const hub = yield* Hub
  const probe = yield* WriteProbe

  const silence = new SilenceTimer()
  let lastResponse = healthy

  /** `/healthz`: the database answers and accepts writes. During a short silence of the database, repeats the last response. */
  const healthz = Effect.gen(function*() {
    const startedAt = yield* Clock.currentTimeMillis
    const answer = yield* accounts.find("healthz").pipe(
      Effect.andThen(probeSuspectedWrites(probe)),
      Effect.timeoutOption(queryTimeout)
    )
    const now = yield* Clock.currentTimeMillis
    if (Option.isNone(answer)) return silence.isTooLong(startedAt, now) ? databaseDown : lastResponse
    silence.reset(now)
    return lastResponse = answer.value === undefined ? healthy : unhealthy(writeFailureSentences[answer.value])
  }).pipe(Effect.catchTag("StoreError", () => Effect.sync(() => lastResponse = databaseDown)))

  /** `/readyz`: the partitions of this runner are awake. */
  const readyz = Effect.map(hub.ready, (ready) => ready ? healthy : starting)

  return { healthz: Reply.onlyGet(() => healthz), readyz: Reply.onlyGet(() => readyz) }
})

/** Tests a write after a statement has failed to write. Returns the reason while writes fail, otherwise undefined. */
const probeSuspectedWrites = (probe: WriteProbe["Service"]) =>
  Effect.gen(function*() {
    const failure = yield* WriteFailure
    if (failure.reason === undefined) return undefined
    return yield* probe.attempt.pipe(
      Effect.map(() => failure.reason = undefined),
      Effect.catch(() => Effect.sync(() => failure.reason))
    )
  })
