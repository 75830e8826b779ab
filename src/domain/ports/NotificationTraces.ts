import { Context } from "effect"

/** A fetch or a push that stored a notification. Times are epoch milliseconds. */
export interface TracedPoll {
  readonly notification: number
  readonly resource: number
  readonly startedAt: number
  readonly endedAt: number
}

/** One attempt to deliver a notification. Times are epoch milliseconds. */
export interface TracedAttempt {
  readonly notification: number
  readonly subscription: number
  readonly channel: string
  readonly sequence: number
  /** 1 for the first attempt. */
  readonly attempt: number
  readonly outcome: string
  readonly isFailure: boolean
  /** Status of the answer. */
  readonly code?: number | undefined
  readonly startedAt: number
  readonly endedAt: number
}

/** Traces of notifications: one from the poll to each accepted delivery. */
export interface NotificationTracer {
  readonly recordPoll: (poll: TracedPoll) => void
  readonly recordAttempt: (attempt: TracedAttempt) => void
}

/** The tracer of this runner; undefined while no collector is set, so that polls and deliveries cost nothing more. */
export const NotificationTraces = Context.Reference<NotificationTracer | undefined>(
  "windhover/domain/ports/NotificationTraces",
  { defaultValue: () => undefined }
)
