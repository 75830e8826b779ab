import type { Listener } from "#actors/stream/Listeners.ts"
import type { SenderIdentity } from "#domain/delivery/Delivery.ts"
import type { Notification } from "#domain/delivery/Notification.ts"
import type { NumberedNotification } from "#domain/ports/NotificationLog.ts"
import type { Format } from "#domain/Subscription.ts"
import * as Cursor from "./Cursor.ts"
import * as Framing from "./Framing.ts"
import type { StreamConnection } from "./StreamRegistry.ts"
import type { StreamWriter } from "./StreamWriter.ts"

/** A stream whose past entries are written. */
export interface StartedStream {
  /** Topics by resource id, as the subscriber wrote them. */
  readonly topics: ReadonlyMap<number, string>
  readonly format: Format
  readonly framing: Framing.Framing
  readonly writer: StreamWriter
  /** Sequence of the last written notification, by resource id. */
  readonly cursors: Map<number, number>
  readonly connection: StreamConnection
}

/** A listener that writes each notification to the stream. `end` ends the stream. */
export const makeListener = (
  { cursors, format, framing, topics, writer }: StartedStream,
  sender: SenderIdentity,
  end: () => void
): Listener => {
  const hasOneResource = cursors.size === 1
  return {
    cursors,
    take: (numbered) => {
      const topic = topics.get(numbered.notification.resourceId) ?? ""
      const bytes = frameNotification(numbered, topic, framing, format, hasOneResource, sender)
      if (bytes === undefined) {
        end() // the resource is no feed any more; the client's next request gets the reason
        return false
      }
      if (!hasOneResource && framing === "events") writer.write(Framing.idField(Cursor.format(cursors)))
      return writer.write(bytes)
    },
    missed: (_, count) => {
      if (framing === "events") writer.write(frameGap(count, cursors))
      else end() // other framings cannot express a gap; the client's next request gets the stored entries
    },
    fail: end
  }
}

/** Frames that listeners with the same topic, framing and format share, as long as the notification lives. */
const sharedFrames = new WeakMap<Notification, Map<string, Buffer | undefined>>()

const frameNotification = (
  { notification, sequence }: NumberedNotification,
  topic: string,
  framing: Framing.Framing,
  format: Format,
  hasOneResource: boolean,
  sender: SenderIdentity
): Buffer | undefined => {
  const key = `${framing} ${format} ${hasOneResource} ${topic}`
  let frames = sharedFrames.get(notification)
  if (frames === undefined) sharedFrames.set(notification, frames = new Map())
  if (frames.has(key)) return frames.get(key)
  const body = Framing.renderNotification(notification, topic, format, sender)
  const bytes = body === undefined
    ? undefined
    : Framing.frameDocument(framing, body, "notification", hasOneResource ? String(sequence) : undefined)
  frames.set(key, bytes)
  return bytes
}

/** An event that tells a client of `missed` lost notifications; null when their number is unknown. */
export const frameGap = (missed: number | null, cursors: ReadonlyMap<number, number>): Buffer =>
  Framing.frameDocument("events", JSON.stringify({ missed, message: gapMessage }), "gap", Cursor.format(cursors))

const gapMessage =
  "Notifications after your last event are no longer kept; hub.mode=retrieve returns the stored entries."
