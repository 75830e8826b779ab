import { Effect, Latch, type Scope } from "effect"
import type { SendResult } from "./OutgoingQueue.ts"

/** Maximum of messages that this runner has handed to the component and whose results are not stored yet. A kill repeats these messages. */
const maxMessages = 64

/** Maximum of waiting deliveries, and of the characters in all of them. */
const maxWaiting = 10_000
const maxWaitingSize = 64 * 1024 * 1024

/** The place of a delivery in the window, or its wait for one. */
interface Place {
  /** Number of messages. */
  readonly weight: number
  /** Number of characters in the messages. */
  readonly size: number
  isTaken: boolean
  resume: () => void
}

/** Bounds the messages between this runner and a component on another runner. */
export interface SendWindow {
  /**
   * Runs `send` with a place for the messages. An accepted delivery keeps its place until its result is stored.
   *
   * Returns `unavailable` when too many deliveries wait.
   */
  readonly withPlace: <E>(
    messages: ReadonlyArray<string>,
    send: Effect.Effect<SendResult, E>
  ) => Effect.Effect<SendResult, E>
}

/**
 * Makes the window of a runner.
 *
 * The component stores only the results of its own runner. Without the window, a killed runner would repeat all messages that the server
 * has read and whose results were on their way back, or in its memory. `flush` stores the reported results and must not fail.
 */
export const make = Effect.fnUntraced(
  function*(flush: Effect.Effect<void>): Effect.fn.Return<SendWindow, never, Scope.Scope> {
    const waiting = new Set<Place>()
    const hasAccepted = yield* Latch.make()
    let waitingSize = 0
    let used = 0
    let accepted = 0

    const remove = (place: Place): void => {
      if (waiting.delete(place)) waitingSize -= place.size
    }

    /** Gives out the free places, in order. A delivery of more messages than the maximum gets the whole window. */
    const admit = (): void => {
      for (const place of waiting) {
        if (used > 0 && used + place.weight > maxMessages) return
        remove(place)
        used += place.weight
        place.isTaken = true
        place.resume()
      }
    }

    const enter = (place: Place): Effect.Effect<void> =>
      Effect.suspend(() => {
        waiting.add(place)
        waitingSize += place.size
        admit()
        return place.isTaken
          ? Effect.void
          : Effect.callback<void>((resume) => void (place.resume = () => resume(Effect.void)))
      })

    const leave = (place: Place, isAccepted: boolean): void => {
      remove(place)
      if (!place.isTaken) return
      if (!isAccepted) return release(place.weight)
      accepted += place.weight
      hasAccepted.openUnsafe()
    }

    const release = (weight: number): void => {
      used -= weight
      admit()
    }

    /** Waits a moment, so that the senders report the results before the flush. */
    const flushAccepted = Effect.gen(function*() {
      yield* hasAccepted.await
      hasAccepted.closeUnsafe()
      yield* Effect.yieldNow
      const weight = accepted
      accepted = 0
      yield* flush
      release(weight)
    })
    yield* Effect.forkScoped(Effect.forever(flushAccepted))

    return {
      withPlace: (messages, send) =>
        Effect.suspend(() => {
          const size = messages.reduce((sum, { length }) => sum + length, 0)
          if (waiting.size >= maxWaiting || waitingSize + size > maxWaitingSize) {
            return Effect.succeed<SendResult>("unavailable")
          }
          const place: Place = { weight: messages.length, size, isTaken: false, resume: () => {} }
          return Effect.onExit(Effect.andThen(enter(place), send), (exit) =>
            Effect.sync(() => leave(place, exit._tag === "Success" && exit.value === "accepted")))
        })
    }
  }
)
