import { Clock, Effect, Option } from "effect"
import { Hub } from "#actors/operations/Hub.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { WriteFailure, type WriteFailureReason } from "#domain/ports/StoreError.ts"
import { WriteProbe } from "#domain/ports/WriteProbe.ts"
import * as Reply from "./Reply.ts"

/** How long a question waits for the database. */
const deadline = "2 seconds"

/**
 * Milliseconds that the database may be silent. It is not away while it is cleaned up (the embedded one does nothing else then) or while long
 * questions hold all connections: to take a runner out for that would give the others its work as well.
 */
const patience = 10_000

const sentences: { readonly [why in WriteFailureReason]: string } = {
  full: "The disk of the database is full; nothing can be written.",
  "read-only": "The database is read-only; nothing can be written."
}

const unable = (sentence: string) => Reply.text(503, sentence, { "retry-after": "5" })

const well = Reply.text(200, "ok")
const away = unable("The database does not answer.")

/** Since when the database has answered no question; times are epoch ms. */
class Silence {
  #since: number | undefined
  #answered = -Infinity

  end(now: number): void {
    this.#since = undefined
    this.#answered = now
  }

  /** After a question that was asked at `asked` and had no answer by `now`; one that came later may have had one. */
  isLong(asked: number, now: number): boolean {
    if (asked <= this.#answered) return false
    this.#since ??= asked
    return now - this.#since >= patience
  }
}

/** Answers for those who watch over the service: no credentials, no details. */
export const makeHealth = Effect.gen(function*() {
  const accounts = yield* AccountStore
  const hub = yield* Hub
  const writing = yield* WriteProbe

  const silence = new Silence()

  /** What the last answer of the database meant: a silence, as long as it is short, says nothing else. */
  let known = well

  /** Why nothing can be written; undefined when something was, or nobody had trouble with it. */
  const unwritten = Effect.gen(function*() {
    const suspected = yield* WriteFailure
    if (suspected.reason === undefined) return undefined
    return yield* writing.attempt.pipe(
      Effect.map(() => suspected.reason = undefined),
      Effect.catch(() => Effect.sync(() => suspected.reason))
    )
  })

  /** Whether the service can work: its database answers, and writes what it is told to. */
  const healthz = Effect.gen(function*() {
    const asked = yield* Clock.currentTimeMillis
    const answer = yield* accounts.find("healthz").pipe(
      Effect.andThen(unwritten),
      Effect.timeoutOption(deadline)
    )
    const now = yield* Clock.currentTimeMillis
    if (Option.isNone(answer)) return silence.isLong(asked, now) ? away : known
    silence.end(now)
    return known = answer.value === undefined ? well : unable(sentences[answer.value])
  }).pipe(Effect.catchTag("StoreError", () => Effect.sync(() => known = away)))

  /** Whether it does work: the partitions that it holds are awake. */
  const readyz = Effect.map(hub.ready, (ready) =>
    ready
      ? well
      : Reply.text(503, "Some partitions are not awake yet.", { "retry-after": "1" }))

  return { healthz: Reply.onlyGet(healthz), readyz: Reply.onlyGet(readyz) }
})
