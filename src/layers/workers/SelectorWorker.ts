import { type Duration, Effect, Layer, Semaphore } from "effect"
import { Selector, SelectorError } from "#domain/ports/Selector.ts"
import { maxDocumentBytes } from "#layers/workers/selector/Limits.ts"
import type { SelectRequest, SelectResponse } from "#layers/workers/selector/worker.ts"
import { WorkerThread } from "./WorkerThread.ts"

/** Paths that wait to be looked at, at most: anybody may ask for it, and polls wait behind them. */
const maxChecks = 64

/**
 * Selects in a thread of its own: paths and documents are strangers', and some of them take for ever.
 *
 * One that is not done within the deadline costs the thread its life, and so does one that needs too much memory.
 */
export const layerWith = ({ deadline }: { readonly deadline: Duration.Input }): Layer.Layer<Selector> =>
  Layer.effect(
    Selector,
    Effect.gen(function*() {
      const thread = yield* Effect.acquireRelease(
        Effect.sync(() =>
          new WorkerThread<SelectRequest, SelectResponse>({
            script: new URL("./selector/worker.ts", import.meta.url),
            name: "selector",
            maxOldGenerationSizeMb: 512,
            maxYoungGenerationSizeMb: 96
          })
        ),
        (thread) => thread.stop
      )
      const turn = yield* Semaphore.make(1)
      let checks = 0
      const ask = Effect.fnUntraced(function*(question: SelectRequest) {
        const answer = yield* thread.ask(question, deadline, "it takes too long").pipe(
          Effect.mapError((why) => tooMuch(`nothing could be selected: ${why}`)),
          turn.withPermits(1)
        )
        if (answer._tag === "Failed") {
          return yield* new SelectorError({ reason: { _tag: answer.reason, message: answer.message } })
        }
        return answer
      })
      return Selector.of({
        check: Effect.fn("Selector.check")((fragment) =>
          Effect.suspend(() => {
            if (checks >= maxChecks) return Effect.fail(tooMuch("too many paths wait to be looked at"))
            checks++
            return Effect.ensuring(Effect.asVoid(ask({ fragment })), Effect.sync(() => checks--))
          })
        ),
        select: Effect.fn("Selector.select")(function*({ fragment, ...document }) {
          if (document.bytes.length > maxDocumentBytes) {
            return yield* tooMuch(
              `the document has ${document.bytes.length} bytes; something is selected in at most ${maxDocumentBytes}`
            )
          }
          const answer = yield* ask({ fragment, document })
          return answer._tag === "Selected" ? answer.selection : yield* Effect.die("a selection was only checked")
        })
      })
    })
  )

export const layer = layerWith({ deadline: "5 seconds" })

const tooMuch = (message: string) => new SelectorError({ reason: { _tag: "TooMuch", message } })
