import { type Duration, Effect, Layer, Semaphore } from "effect"
import { Selector, SelectorError } from "#domain/ports/Selector.ts"
import type { SelectRequest, SelectResponse } from "#layers/workers/selector/worker.ts"
import { WorkerThread } from "./WorkerThread.ts"

/** Path checks in the queue. Any client may cause checks, and polls wait behind them. */
const maxQueuedChecks = 64

/**
 * Bytes of a document for a selection.
 *
 * Its tree usually takes ten times as much memory, and 240 times for `<p><p>…`. A tree beyond the thread's memory ends the thread.
 */
const maxDocumentBytes = 8 * 1024 * 1024

/**
 * Selects in a thread, because paths and documents are foreign input, and some run forever.
 *
 * The thread ends when a selection misses the deadline or needs too much memory.
 */
export const layerWith = ({ deadline }: { readonly deadline: Duration.Input }): Layer.Layer<Selector> =>
  Layer.effect(
    Selector,
    Effect.gen(function*() {
      const thread = yield* Effect.acquireRelease(Effect.sync(makeThread), (thread) => thread.stop)
      const lock = yield* Semaphore.make(1)
      let queuedChecks = 0
      const ask = Effect.fnUntraced(function*(request: SelectRequest) {
        const response = yield* thread.request(request, deadline).pipe(
          Effect.mapError((reason) => tooMuch(`nothing could be selected: ${reason}`)),
          lock.withPermits(1)
        )
        if (response._tag === "Failed") {
          return yield* new SelectorError({ reason: { _tag: response.reason, message: response.message } })
        }
        return response
      })
      return Selector.of({
        check: Effect.fn("Selector.check")((fragment) =>
          Effect.suspend(() => {
            if (queuedChecks >= maxQueuedChecks) return Effect.fail(tooMuch("too many paths wait to be checked"))
            queuedChecks++
            return Effect.ensuring(Effect.asVoid(ask({ fragment })), Effect.sync(() => queuedChecks--))
          })
        ),
        select: Effect.fn("Selector.select")(function*({ fragment, ...document }) {
          const { length } = document.bytes
          if (length > maxDocumentBytes) {
            return yield* tooMuch(`the document has ${length} bytes; a selection reads at most ${maxDocumentBytes}`)
          }
          const response = yield* ask({ fragment, document })
          return response._tag === "Selected"
            ? response.selection
            : yield* Effect.die("The thread checked a path that it had to select by.")
        })
      })
    })
  )

export const layer = layerWith({ deadline: "5 seconds" })

const makeThread = () =>
  new WorkerThread<SelectRequest, SelectResponse>({
    script: new URL("./selector/worker.ts", import.meta.url),
    name: "selector"
  })

const tooMuch = (message: string) => new SelectorError({ reason: { _tag: "TooMuch", message } })
