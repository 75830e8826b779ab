import { Effect } from "effect"
import * as diagnostics from "node:diagnostics_channel"
import type { TimerWheel, WheelTimer } from "#layers/outbound/TimerWheel.ts"

export interface DeadlinesByHand extends TimerWheel {
  /** Durations of all added deadlines in ms, in order. */
  readonly added: ReadonlyArray<number>
  /** Expires the deadlines of this duration. */
  readonly runOut: (milliseconds: number) => Effect.Effect<void>
}

/** Deadlines that expire at the test's command, independent of the machine's speed. */
export const make = (): DeadlinesByHand => {
  const open = new Map<WheelTimer, number>()
  const added: Array<number> = []
  return {
    added,
    add: (milliseconds, expired) => {
      const deadline: WheelTimer = { due: Infinity, onExpire: expired, previous: undefined, next: undefined }
      added.push(milliseconds)
      open.set(deadline, milliseconds)
      return deadline
    },
    cancel: (deadline) => void open.delete(deadline),
    pending: () => open.size,
    close: () => {},
    runOut: (milliseconds) =>
      Effect.sync(() => {
        for (const [deadline, given] of open) {
          if (given === milliseconds && open.delete(deadline)) deadline.onExpire?.()
        }
      })
  }
}

/** Waits until the header of an answer of this origin has been read, together with the bytes after the header. */
export const headRead = (origin: string): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const hear = (message: unknown) => {
      // published before the header is passed on
      if ((message as { request: { origin: string } }).request.origin === origin) setImmediate(resume, Effect.void)
    }
    diagnostics.subscribe("undici:request:headers", hear)
    return Effect.sync(() => void diagnostics.unsubscribe("undici:request:headers", hear))
  })
