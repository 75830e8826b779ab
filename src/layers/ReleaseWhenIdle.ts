import { Effect, Layer } from "effect"
import { performance } from "node:perf_hooks"
import { getHeapStatistics } from "node:v8"
import { trimPools } from "./MallocTrim.ts"
import { releaseDelayMs, releaseMemory, shortenCollections, spaceCollections } from "./ReleaseMemory.ts"

/**
 * Maximum of the heap, in bytes and with its garbage, for a release: it stops the event loop for 0.5 s with 100 MB of live objects. An idle
 * process has 46 MB.
 */
const maxHeap = 96 * 1024 * 1024

/** Milliseconds until helper threads have freed the garbage of the collections. */
const sweepMs = 2000

/** Milliseconds in which V8 returns the rest of the start's memory, if the process is idle. */
const settleMs = 60_000

/** Milliseconds between two looks at the event loop. */
const lookMs = 10_000

/** Share of the time in which a busy event loop works, at least. */
const minBusyShare = 0.2

/** Share of the time in which an idle event loop works, at most. */
const maxIdleShare = 0.1

/** Looks at an idle event loop after which its load counts as ended: two minutes. */
const idleLooks = 12

/** The parts of a release, for tests. */
interface ReleaseParts {
  readonly heapBytes: () => number
  readonly collect: () => void
  readonly trim: () => void
}

/** Collects, and returns the pools of the C library later. False for a heap that is too large. */
export const makeRelease = ({ collect, heapBytes, trim }: ReleaseParts): Effect.Effect<boolean> =>
  Effect.suspend(() => {
    if (heapBytes() > maxHeap) return Effect.succeed(false)
    collect()
    return Effect.as(Effect.andThen(Effect.sleep(sweepMs), Effect.sync(trim)), true)
  })

/**
 * Runs `tryRelease` when a busy event loop has become idle, and again at each look until it succeeds or there is load. `shareOf` gives the share
 * of the time in which the event loop has worked since the last look.
 */
export const watchLoad = (
  shareOf: () => number,
  tryRelease: Effect.Effect<boolean>,
  wasBusyBefore: boolean
): Effect.Effect<never> => {
  let wasBusy = wasBusyBefore
  let idle = 0
  return Effect.forever(Effect.andThen(
    Effect.sleep(lookMs),
    Effect.suspend(() => {
      const share = shareOf()
      if (share >= minBusyShare) wasBusy = true
      idle = share <= maxIdleShare ? idle + 1 : 0
      if (!wasBusy || idle < idleLooks) return Effect.void
      return Effect.map(tryRelease, (isDone) => {
        wasBusy = !isDone
      })
    })
  ))
}

/** The share of the time in which the event loop has worked since the last call. */
export const makeShareOf = (read: typeof performance.eventLoopUtilization) => {
  let last = read()
  return () => {
    const now = read()
    const { utilization } = read(now, last)
    last = now
    return utilization
  }
}

/**
 * Releases the memory that only the start needed, and later that of each load that has ended: garbage of the main thread, and 2 s later the pools
 * of all threads in the C library. The database's thread releases its own garbage once, after the start.
 *
 * An idle process allocates so little that V8 would keep this memory for hours. From a minute after the first release on, V8 collects seldom
 * and in short pauses, and returns no memory by itself.
 */
export const releaseWhenIdle: Layer.Layer<never> = Effect.gen(function*() {
  const heapBytes = () => getHeapStatistics().used_heap_size
  const release = makeRelease({ heapBytes, collect: releaseMemory, trim: trimPools })
  yield* Effect.sleep(releaseDelayMs)
  const isDone = yield* release
  const shareOf = makeShareOf(performance.eventLoopUtilization)
  yield* Effect.sleep(settleMs)
  shortenCollections()
  spaceCollections()
  return yield* watchLoad(shareOf, release, !isDone)
}).pipe(Effect.forkScoped, Layer.effectDiscard)
