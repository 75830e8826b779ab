import { Context, type Effect } from "effect"
import type { NumberedNotification } from "#domain/ports/NotificationLog.ts"

/** Receives the notifications of some resources in order of sequence. The fan-out calls its functions, which return at once. */
export interface Listener {
  /** Sequence of the last received notification by resource; moved before `take` and `missed` are called. */
  readonly cursors: Map<number, number>
  /** Takes the next notification. False when the listener has no room for another one. */
  readonly take: (numbered: NumberedNotification) => boolean
  /** This many notifications of a resource are no longer stored. */
  readonly missed: (resourceId: number, count: number) => void
  /** The listener cannot be served any longer, and gets no more notifications. */
  readonly fail: () => void
}

/** A listener that is served until it is detached. */
export interface Attachment {
  /** Resumes the listener after its `take` has returned false. */
  readonly resume: () => void
  readonly detach: () => void
}

/**
 * The streams and long polls of this runner.
 *
 * The log in the database is the truth, and a listener is a cursor into the log. Wake-ups are hints: an actor of this runner calls
 * `notify`. A regular query of the last sequences finds notifications of other runners and of crashed actors. So a moving partition loses
 * and doubles no notification.
 */
export class Listeners extends Context.Service<Listeners, {
  /** Wakes the stream of a resource with a new notification. */
  readonly notify: (resourceId: number) => Effect.Effect<void>
  /**
   * Serves the listener from its cursors on.
   *
   * `onAttached` gets the attachment in the same step that begins it, so that no interruption loses the attachment.
   */
  readonly attach: (listener: Listener, onAttached: (attachment: Attachment) => void) => Effect.Effect<void>
}>()("windhover/actors/stream/Listeners") {}
