import { Clock, Effect, Latch } from "effect"
import { FifoSemaphore } from "./FifoSemaphore.ts"

/** Time for which a fetch keeps its permit while other fetches wait, in ms. */
const permitMs = 2_000

/** Maximum of slow fetches without a permit, as a multiple of the permits. */
const maxSlowPerPermit = 2

/** A fetch in flight; a slow one has lost its permit. */
interface FetchInFlight {
  /** Epoch ms. */
  readonly startedAt: number
  isSlow: boolean
}

/** Bounds the fetches in flight, across the partitions of the runner. */
export interface FetchLimiter {
  /** Runs a fetch as soon as there is a permit. */
  readonly run: <A, E, R>(fetch: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

/**
 * A limiter with `maxFetches` permits.
 *
 * A fetch keeps its permit until its end, or for two seconds while other fetches wait. A slow fetch goes on without a permit. So up to twice
 * `maxFetches` silent servers delay no other fetch.
 */
export const make = Effect.fnUntraced(function*(maxFetches: number) {
  const clock = yield* Clock.Clock
  const permits = new FifoSemaphore(maxFetches)
  const waitersLatch = yield* Latch.make(false)
  /** Fetches with a permit, the oldest first. */
  const fastFetches = new Set<FetchInFlight>()
  let freeSlowSlots = maxFetches * maxSlowPerPermit

  const end = (fetch: FetchInFlight): void => {
    if (fetch.isSlow) {
      freeSlowSlots++
      return
    }
    fastFetches.delete(fetch)
    permits.release()
  }

  /** Milliseconds until the oldest fetch may lose its permit. */
  const nextCheckMs = (): number => {
    if (freeSlowSlots === 0) return permitMs
    for (const { startedAt } of fastFetches) return Math.max(startedAt + permitMs - clock.currentTimeMillisUnsafe(), 1)
    return permitMs
  }

  /** Takes the permits of all fetches that are older than two seconds. */
  const releaseSlow = Effect.suspend(() => {
    const latestStart = clock.currentTimeMillisUnsafe() - permitMs
    for (const fetch of fastFetches) {
      if (fetch.startedAt > latestStart || freeSlowSlots === 0) break
      fastFetches.delete(fetch)
      fetch.isSlow = true
      freeSlowSlots--
      permits.release()
    }
    return permits.waiting > 0 ? Effect.void : waitersLatch.close
  })

  yield* waitersLatch.await.pipe(
    Effect.andThen(Effect.suspend(() => Effect.sleep(nextCheckMs()))),
    Effect.andThen(releaseSlow),
    Effect.forever,
    Effect.forkScoped
  )

  /** The release is installed before the permit is taken: an interruption in between would lose the permit. */
  const run: FetchLimiter["run"] = (fetch) => {
    let inFlight: FetchInFlight | undefined
    const start = () => {
      inFlight = { startedAt: clock.currentTimeMillisUnsafe(), isSlow: false }
      fastFetches.add(inFlight)
      return fetch
    }
    const startAfterWait = () =>
      Effect.uninterruptibleMask((restore) =>
        Effect.flatMap(Effect.andThen(waitersLatch.open, permits.acquire(restore)), () => restore(start()))
      )
    return Effect.onExit(Effect.suspend(() => permits.tryAcquire() ? start() : startAfterWait()), () => {
      if (inFlight !== undefined) end(inFlight)
      return Effect.void
    })
  }
  return { run } satisfies FetchLimiter
})
