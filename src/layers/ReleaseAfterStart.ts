import { Effect, Layer } from "effect"
import { trimPools } from "./MallocTrim.ts"
import { releaseDelayMs, releaseMemory, shortenCollections } from "./ReleaseMemory.ts"

/** Above this heap, in bytes, the release would stop a busy event loop: it takes 0.5 s for 100 MB of live objects. An idle process has 46. */
const maxHeap = 96 * 1024 * 1024

/** Milliseconds until helper threads have freed the garbage of the collections. */
const sweepMs = 2000

/** Milliseconds in which V8 returns the rest of the start's memory, if the process is idle. */
const settleMs = 60_000

/**
 * Releases the memory of the start once: garbage 15 s after it, and the pools of the C library 2 s later. A minute later, short pauses count more
 * than memory.
 *
 * An idle process allocates so little that V8 would keep this memory for hours. The database's thread does the same.
 */
export const releaseAfterStart: Layer.Layer<never> = Effect.gen(function*() {
  yield* Effect.sleep(releaseDelayMs)
  if (process.memoryUsage().heapUsed <= maxHeap) {
    releaseMemory()
    yield* Effect.sleep(sweepMs)
    trimPools()
  }
  yield* Effect.sleep(settleMs)
  shortenCollections()
}).pipe(Effect.forkScoped, Layer.effectDiscard)
