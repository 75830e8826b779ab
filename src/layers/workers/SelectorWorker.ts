import { type Duration, Effect, Layer } from "effect"
import type { WorkerTurn } from "#domain/poll/WorkerTurn.ts"
import { Selector, SelectorError } from "#domain/ports/Selector.ts"
import type { SelectRequest, SelectResponse } from "#layers/workers/selector/worker.ts"
import * as WorkerLanes from "./WorkerLanes.ts"

/** Path checks in the queue. Any client may cause checks. */
const maxQueuedChecks = 64

/** Turn of all checks. A check reads no document, so that checks take little time of the accounts' thread. */
const checkTurn: WorkerTurn = { key: "checks", isForStrangers: false }

/**
 * Bytes of a document for a selection.
 *
 * Its tree usually takes ten times as much memory, and 240 times for `<p><p>…`. A tree beyond the thread's memory ends the thread.
 */
const maxDocumentBytes = 8 * 1024 * 1024

/**
 * Selects in threads, because paths and documents are foreign input, and some run forever. Resources of accounts have a thread of their own.
 *
 * A thread ends when a selection misses the deadline or needs too much memory.
 */
export const layerWith = ({ deadline }: { readonly deadline: Duration.Input }): Layer.Layer<Selector> =>
  Layer.effect(
    Selector,
    Effect.gen(function*() {
      const lanes = yield* WorkerLanes.make<SelectRequest, SelectResponse>({ script, name: "selector" })
      let queuedChecks = 0
      const ask = Effect.fnUntraced(function*(request: SelectRequest, turn: WorkerTurn) {
        const response = yield* lanes.run(turn, (requestThread) =>
          Effect.mapError(requestThread(request, deadline), (reason) =>
            new SelectorError({ reason: { _tag: "Killed", message: `nothing could be selected: ${reason}` } })))
        if (response._tag === "Failed") {
          return yield* new SelectorError({ reason: { _tag: response.reason, message: response.message } })
        }
        return response
      })
      return Selector.of({
        check: Effect.fn("Selector.check")((fragment) =>
          Effect.suspend(() => {
            if (queuedChecks >= maxQueuedChecks) {
              return Effect.fail(tooMuch("too many paths wait to be checked"))
            }
            queuedChecks++
            return Effect.ensuring(
              Effect.asVoid(ask({ fragment }, checkTurn)),
              Effect.sync(() =>
                queuedChecks--
              )
            )
          })
        ),
        outline: Effect.fn("Selector.outline")(function*({ fragment, turn, ...document }) {
          yield* checkLength(document.bytes)
          const request = { wants: "outline" as const, document, ...(fragment !== undefined && { fragment }) }
          const response = yield* ask(request, turn)
          return response._tag === "Outlined"
            ? response.outline
            : yield* Effect.die("The thread did not outline the document.")
        }),
        select: Effect.fn("Selector.select")(function*({ fragment, turn, ...document }) {
          yield* checkLength(document.bytes)
          const response = yield* ask({ fragment, document }, turn)
          return response._tag === "Selected"
            ? response.selection
            : yield* Effect.die("The thread checked a path that it had to select by.")
        })
      })
    })
  )

export const layer = layerWith({ deadline: "5 seconds" })

const script = new URL(import.meta.resolve("#layers/workers/selector/worker.ts"))

const checkLength = ({ length }: Uint8Array): Effect.Effect<void, SelectorError> =>
  length > maxDocumentBytes
    ? Effect.fail(tooMuch(`the document has ${length} bytes; a selection reads at most ${maxDocumentBytes}`))
    : Effect.void

const tooMuch = (message: string) => new SelectorError({ reason: { _tag: "TooMuch", message } })
