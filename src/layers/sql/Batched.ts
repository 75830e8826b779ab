import { Clock, type Context, Effect, Exit, Latch } from "effect"
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
 *
 * Effect's `RequestResolver` does the same with Sets that it uses again for each batch. What a Set has cleared, or held before it grew, is kept
 * alive by its former tables when these are old (decision 20): all that a batch had written, with the documents that its texts are slices of.
 */
export const batched = <In, Out>({ concurrency = 2, gathering = 1, max, run, spacing }: Options<In, Out>) => {
  interface Caller {
    readonly input: In
    readonly resume: (exit: Exit.Exit<Out, StoreError>) => void
  }

  const together = (callers: ReadonlyArray<Caller>): Effect.Effect<void> =>
    run(callers.map(({ input }) => input)).pipe(
      Effect.matchEffect({
        onSuccess: (answers) => Effect.sync(() => callers.forEach((caller, i) => answer(caller, answers[i]))),
        onFailure: (error) =>
          error.reason._tag === "Defect" && callers.length > 1
            ? Effect.forEach(callers, (caller) => together([caller]), { discard: true })
            : answerAll(callers, Exit.fail(error))
      }),
      Effect.catchCause((cause) => answerAll(callers, Exit.failCause(cause)))
    )
  const answer = ({ resume }: Caller, out: Out | undefined) =>
    resume(
      out === undefined ? Exit.die(new Error("A batch gave fewer answers than it had questions.")) : Exit.succeed(out)
    )
  const answerAll = (callers: ReadonlyArray<Caller>, exit: Exit.Exit<Out, StoreError>) =>
    Effect.sync(() => callers.forEach(({ resume }) => resume(exit)))

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

  /** Those who wait for the next statement; undefined while nobody does. */
  let waiting: Array<Caller> | undefined
  const statement = Effect.andThen(
    Effect.andThen(spaced, free.await),
    Effect.suspend(() => {
      const callers = waiting ?? []
      waiting = undefined
      return callers.length === 0
        ? Effect.void
        : counted(Effect.forEach(chunksOf(callers, max), together, { discard: true }))
    })
  )
  return (input: In): Effect.Effect<Out, StoreError> =>
    Effect.contextWith((context: Context.Context<never>) =>
      Effect.callback<Out, StoreError>((resume) => {
        const caller: Caller = { input, resume }
        if (waiting === undefined) {
          waiting = [caller]
          Effect.runForkWith(context)(statement)
        } else waiting.push(caller)
        return Effect.sync(() => {
          const at = waiting?.indexOf(caller) ?? -1
          if (at >= 0) waiting?.splice(at, 1)
        })
      })
    )
}

export const chunksOf = <A>(all: ReadonlyArray<A>, size: number): ReadonlyArray<ReadonlyArray<A>> =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, i) => all.slice(i * size, (i + 1) * size))
