import { type Duration, Effect, Exit, Request, RequestResolver } from "effect"
import type { StoreError } from "#domain/ports/StoreError.ts"

interface Options<In, Out> {
  /** How long the first caller waits for others. */
  readonly delay: Duration.Input
  readonly max: number
  /** One statement for all; answers index by index. */
  readonly run: (inputs: ReadonlyArray<In>) => Effect.Effect<ReadonlyArray<Out>, StoreError>
}

/**
 * One statement for all callers within some milliseconds.
 *
 * A database that is away refuses all of them; a defect is searched for: each input is tried alone, so that one caller's bad data fails one caller.
 */
export const batched = <In, Out>({ delay, max, run }: Options<In, Out>) => {
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

  const resolver = RequestResolver.make<Ask>(together).pipe(
    RequestResolver.setDelay(delay),
    RequestResolver.batchN(max)
  )
  return (input: In): Effect.Effect<Out, StoreError> => Effect.request(Ask({ input }), resolver)
}
