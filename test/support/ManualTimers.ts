import { Effect } from "effect"
import * as diagnostics from "node:diagnostics_channel"
import type { TimerWheel, WheelTimer } from "#layers/TimerWheel.ts"

export interface ManualTimers extends TimerWheel {
  /** Milliseconds of all timers, in the order of their start. */
  readonly added: ReadonlyArray<number>
  /** Fires the timers of so many milliseconds. */
  readonly expire: (milliseconds: number) => Effect.Effect<void>
}

/** Timers that fire when the test says so, regardless of the machine's speed. */
export const make = (): ManualTimers => {
  const pending = new Map<WheelTimer, number>()
  const added: Array<number> = []
  return {
    added,
    add: (milliseconds, onExpire) => {
      const timer: WheelTimer = { due: Infinity, onExpire, previous: undefined, next: undefined }
      added.push(milliseconds)
      pending.set(timer, milliseconds)
      return timer
    },
    cancel: (timer) => void pending.delete(timer),
    pending: () => pending.size,
    close: () => {},
    expire: (milliseconds) =>
      Effect.sync(() => {
        for (const [timer, timerMilliseconds] of pending) {
          if (timerMilliseconds === milliseconds && pending.delete(timer)) timer.onExpire?.()
        }
      })
  }
}

/** Waits until undici has read the header of a response of this origin, with the data that came with the header. */
export const headRead = (origin: string): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const onHeaders = (message: unknown) => {
      // The event comes before undici hands the header on.
      if ((message as { request: { origin: string } }).request.origin === origin) setImmediate(resume, Effect.void)
    }
    diagnostics.subscribe("undici:request:headers", onHeaders)
    return Effect.sync(() => void diagnostics.unsubscribe("undici:request:headers", onHeaders))
  })
