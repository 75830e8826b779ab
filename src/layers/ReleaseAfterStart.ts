import { Effect, Layer } from "effect"
import { trimPools } from "./MallocTrim.ts"
import { releaseDelayMs, releaseMemory } from "./ReleaseMemory.ts"

/** Above this heap, in bytes, the release would stop a busy event loop: it takes 0.5 s for 100 MB of live objects. An idle process has 46. */
const maxHeap = 96 * 1024 * 1024

/** Milliseconds until helper threads have freed the garbage of the collections. */
const sweepMs = 2000

/**
 * Releases the memory of the start once: garbage 15 s after it, and the pools of the C library 2 s later.
 *
 * An idle process allocates so little that V8 would keep this memory for hours. The database's thread does the same.
 */
export const releaseAfterStart: Layer.Layer<never> = Effect.gen(function*() {
  yield* Effect.sleep(releaseDelayMs)
  if (process.memoryUsage().heapUsed > maxHeap) return
  releaseMemory()
  yield* Effect.sleep(sweepMs)
  trimPools()
}).pipe(Effect.forkScoped, Layer.effectDiscard)
