import { Clock, Effect, Exit, Latch, Request, RequestResolver } from "effect"
import type { StoreError } from "#domain/ports/StoreError.ts"

interface Options<In, Out> {
  /** Milliseconds between the beginnings of two statements, at least. */
  readonly spacing: number
  /** Milliseconds that a caller waits after a silence for others who come at the same time; 1 where it is not said. With 0: those of this turn. */
  readonly gathering?: number
  /** Statements under way, at most; 2 where it is not said: one works while the next is sent. */
  readonly concurrency?: number
  /** Callers that share a statement, at most. */
  readonly max: number
  /** One statement for all; answers index by index. */
  readonly run: (inputs: ReadonlyArray<In>) => Effect.Effect<ReadonlyArray<Out>, StoreError>
}

/**
 * One statement for all callers within some milliseconds.
 *
 * Who calls after a silence hardly waits. The more callers there are, and the slower the database is, the more of them share a statement:
 * before its first row a large one costs the database as much as forty rows do.
 *
 * A database that is away refuses all of them; a defect is searched for: each input is tried alone, so that one caller's bad data fails one caller.
 */
export const batched = <In, Out>({ concurrency = 2, gathering = 1, max, run, spacing }: Options<In, Out>) => {
  interface Ask extends Request.Request<Out, StoreError> {
    readonly _tag: "Ask"
    readonly input: In
  }
  const Ask = Request.tagged<Ask>("Ask")
  type Entry = Request.Entry<Ask>

  const together = (entries: ReadonlyArray<Entry>): Effect.Effect<void> =>
    run(entries.map(({ request }) => request.input)).pipe(
      Effect.matchEffect({
        onSuccess: (answers) => Effect.sync(() => entries.forEach((entry, i) => answer(entry, answers[i]))),
        onFailure: (error) =>
          error.reason === "defect" && entries.length > 1
            ? Effect.forEach(entries, (entry) => together([entry]), { discard: true })
            : Effect.sync(() => entries.forEach((entry) => entry.completeUnsafe(Exit.fail(error))))
      })
    )
  const answer = (entry: Entry, out: Out | undefined) =>
    entry.completeUnsafe(
      out === undefined ? Exit.die(new Error("A batch gave fewer answers than it had questions.")) : Exit.succeed(out)
    )

  let underWay = 0
  const free = Latch.makeUnsafe(true)
  const counted = <A>(statement: Effect.Effect<A>) =>
    Effect.suspend(() => {
      if (++underWay >= concurrency) free.closeUnsafe()
      return statement
    }).pipe(
      Effect.onExit(() => Effect.sync(() => --underWay < concurrency && free.openUnsafe()))
    )

  let begun = -Infinity
  const spaced = Effect.flatMap(Clock.currentTimeMillis, (now) => {
    // a clock that was set back makes nobody wait longer
    const milliseconds = Math.min(Math.max(begun + spacing - now, gathering), spacing)
    begun = now + milliseconds
    return milliseconds === 0 ? Effect.yieldNow : Effect.sleep(milliseconds)
  })
  const resolver = RequestResolver.make<Ask>((entries) =>
    counted(Effect.forEach(chunksOf(entries, max), together, { discard: true }))
  ).pipe(RequestResolver.setDelayEffect(Effect.andThen(spaced, free.await)))
  return (input: In): Effect.Effect<Out, StoreError> => Effect.request(Ask({ input }), resolver)
}

export const chunksOf = <A>(all: ReadonlyArray<A>, size: number): ReadonlyArray<ReadonlyArray<A>> =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, i) => all.slice(i * size, (i + 1) * size))
