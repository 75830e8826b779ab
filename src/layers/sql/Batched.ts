import { Clock, Effect, Exit, Request, RequestResolver } from "effect"
import type { StoreError } from "#domain/ports/StoreError.ts"

interface Options<In, Out> {
  /** Milliseconds between the beginnings of two statements, at least. */
  readonly spacing: number
  readonly max: number
  /** One statement for all; answers index by index. */
  readonly run: (inputs: ReadonlyArray<In>) => Effect.Effect<ReadonlyArray<Out>, StoreError>
}

/** Milliseconds that a caller waits for others who come at the same time, after a silence. */
const gathering = 1

/**
 * One statement for all callers within some milliseconds.
 *
 * The more there are, the more share a statement: a large one costs the database as much before its first row as for forty of them. Who calls
 * after a silence hardly waits.
 *
 * A database that is away refuses all of them; a defect is searched for: each input is tried alone, so that one caller's bad data fails one caller.
 */
export const batched = <In, Out>({ max, run, spacing }: Options<In, Out>) => {
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

  let begun = -Infinity
  const wait = Effect.flatMap(Clock.currentTimeMillis, (now) => {
    // a clock that was set back makes nobody wait longer
    const milliseconds = Math.min(Math.max(begun + spacing - now, gathering), spacing)
    begun = now + milliseconds
    return Effect.sleep(milliseconds)
  })
  const resolver = RequestResolver.make<Ask>(together).pipe(
    RequestResolver.setDelayEffect(wait),
    RequestResolver.batchN(max)
  )
  return (input: In): Effect.Effect<Out, StoreError> => Effect.request(Ask({ input }), resolver)
}
