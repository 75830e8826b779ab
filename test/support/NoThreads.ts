import { Effect } from "effect"
import { syncBuiltinESMExports } from "node:module"
import threads from "node:worker_threads"

const { Worker } = threads

const set = (worker: typeof Worker) =>
  Effect.sync(() => {
    threads.Worker = worker
    syncBuiltinESMExports()
  })

/** Makes the start of threads fail until the scope closes, as on a system without resources. */
export const noThreads = Effect.acquireRelease(
  set(
    function() {
      throw new Error("Worker initialization failure: EAGAIN")
    } as unknown as typeof Worker
  ),
  () => set(Worker)
)
