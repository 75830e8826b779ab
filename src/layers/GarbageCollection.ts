import { Effect, Layer } from "effect"
import { exposeCollection, releaseDelayMs, releaseMemory } from "./ReleaseMemory.ts"

/** A full garbage collection of the calling thread, which returns the memory of the last documents to the system. */
export const collectGarbage = (): void => {
  collect ??= exposeCollection()
  collect()
}

/**
 * Returns the memory of large buffers that were in use for a moment, such as the parameters of a statement. Takes a few milliseconds.
 *
 * V8 would keep them until 64 MB more have come together, although the documents they belonged to count in the budget no longer.
 */
export const collectYoungGarbage = (): void => {
  if (isScheduled) return
  isScheduled = true
  // Later, when no function on the stack refers to the buffers.
  setImmediate(() => {
    isScheduled = false
    collect ??= exposeCollection()
    collect({ type: "minor" })
  })
}

let isScheduled = false

let collect: ReturnType<typeof exposeCollection> | undefined

/** Above this heap, in bytes, the release would stop a busy event loop: it takes 0.5 s for 100 MB of live objects. An idle process has 46. */
const maxHeap = 96 * 1024 * 1024

/**
 * Releases the memory of the start once, 15 s after it.
 *
 * An idle process allocates so little that V8 would keep this memory for hours. The database's thread does the same.
 */
export const releaseAfterStart: Layer.Layer<never> = Effect.sync(() => {
  if (process.memoryUsage().heapUsed < maxHeap) releaseMemory()
}).pipe(Effect.delay(releaseDelayMs), Effect.forkScoped, Layer.effectDiscard)
