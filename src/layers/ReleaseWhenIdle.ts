import { Effect, Layer } from "effect"
import { trimPools } from "./MallocTrim.ts"
import { releaseDelayMs, releaseMemory, shortenCollections } from "./ReleaseMemory.ts"

/** Above this heap, in bytes, the release would stop the event loop for too long: it takes 0.5 s for 100 MB of live objects. An idle process has 46. */
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

/** False while the heap is too large. */
const release = Effect.suspend(() => {
  if (process.memoryUsage().heapUsed > maxHeap) return Effect.succeed(false)
  releaseMemory()
  return Effect.as(Effect.andThen(Effect.sleep(sweepMs), Effect.sync(trimPools)), true)
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

/** The share of the event loop's time in which it worked, since the last call. */
const makeShareOf = () => {
  let last = performance.eventLoopUtilization()
  return () => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, last)
    last = now
    return utilization
  }
}

/**
 * Releases the memory that only the start needed, and later that of each load that has ended: garbage, and 2 s later the pools of the C library.
 *
 * An idle process allocates so little that V8 would keep this memory for hours. The start's memory is released 15 s after it. A minute later,
 * short pauses count more than memory, as long as there is load. The database's thread releases the memory of its start itself.
 */
export const releaseWhenIdle: Layer.Layer<never> = Effect.gen(function*() {
  yield* Effect.sleep(releaseDelayMs)
  const isDone = yield* release
  yield* Effect.sleep(settleMs)
  shortenCollections()
  return yield* watchLoad(makeShareOf(), release, !isDone)
}).pipe(Effect.forkScoped, Layer.effectDiscard)
