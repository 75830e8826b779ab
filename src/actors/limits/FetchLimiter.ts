import { Clock, Effect, Latch } from "effect"
import { FifoSemaphore } from "./FifoSemaphore.ts"

/** Milliseconds after which a fetch that is still under way stands in nobody's way any more. */
const quick = 2_000

/** Slow ones that may be under way beside the others, for each place. */
const slowShare = 2

/** A fetch that has a place, since when (epoch ms), and whether it has given it up. */
interface Ticket {
  readonly since: number
  slow: boolean
}

/** Who may fetch now, over all partitions of the runner. */
export interface FetchLimiter {
  /** Runs a fetch, once, as soon as there is a place for it. */
  readonly run: <A, E, R>(fetch: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

/**
 * `width` places.
 *
 * A fetch has its place until it ends. When others wait, for two seconds at most: then the place goes to one of them, and the fetch goes on
 * beside. So servers that do not answer keep nobody waiting, as long as they are not more than twice `width`.
 */
export const make = Effect.fnUntraced(function*(width: number) {
  const clock = yield* Clock.Clock
  const places = new FifoSemaphore(width)
  const needed = yield* Latch.make(false)
  /** Those that keep their place, the first one first. */
  const quickOnes = new Set<Ticket>()
  let room = width * slowShare

  const end = (ticket: Ticket): void => {
    if (ticket.slow) {
      room++
      return
    }
    quickOnes.delete(ticket)
    places.release()
  }

  /** Milliseconds until the next one may be asked to give up its place. */
  const patience = (): number => {
    if (room === 0) return quick
    for (const { since } of quickOnes) return Math.max(since + quick - clock.currentTimeMillisUnsafe(), 1)
    return quick
  }

  /** All that have had their place for too long give it up: those who come next need not wait for it. */
  const giveUp = Effect.suspend(() => {
    const before = clock.currentTimeMillisUnsafe() - quick
    for (const ticket of quickOnes) {
      if (ticket.since > before || room === 0) break
      quickOnes.delete(ticket)
      ticket.slow = true
      room--
      places.release()
    }
    return places.waiting > 0 ? Effect.void : needed.close
  })

  yield* needed.await.pipe(
    Effect.andThen(Effect.suspend(() => Effect.sleep(patience()))),
    Effect.andThen(giveUp),
    Effect.forever,
    Effect.forkScoped
  )

  /** What leaves a place stands around the fetch before it is taken: an interruption in between would lose it. */
  const through: FetchLimiter["run"] = (fetch) => {
    let ticket: Ticket | undefined
    const begin = () => {
      ticket = { since: clock.currentTimeMillisUnsafe(), slow: false }
      quickOnes.add(ticket)
      return fetch
    }
    const inTurn = () =>
      Effect.uninterruptibleMask((restore) =>
        Effect.flatMap(Effect.andThen(needed.open, places.acquire(restore)), () => restore(begin()))
      )
    return Effect.onExit(Effect.suspend(() => places.tryAcquire() ? begin() : inTurn()), () => {
      if (ticket !== undefined) end(ticket)
      return Effect.void
    })
  }
  return { run: through } satisfies FetchLimiter
})
